"""Reports: one self-contained HTML page, and figures for papers (`ucad.report.figures`)."""

from __future__ import annotations

from ucad.report.page import ReportContent, render, write_report

__all__ = ["ReportContent", "render", "write_report"]
