"""From data to a factor SCM: the solvers, and how to choose between their results."""

from __future__ import annotations

from ucad.solvers.status import FitResult, FitStatus

__all__ = ["FitResult", "FitStatus"]
