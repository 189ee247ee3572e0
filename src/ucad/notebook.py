"""Small pieces of HTML for notebooks: every text is escaped, colours are the notebook's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["folded", "paragraph", "table"]

MAX_ROWS = 60
"""Rows shown of a long table: two screens."""


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table, its text aligned to the left.

    >>> table(["a"], [["<b>"]]).count("&lt;b&gt;")
    1
    """
    cells = [[escape(str(cell)) for cell in row] for row in rows]
    head = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in headings)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in row) + "</tr>"
        for row in cells[:MAX_ROWS]
    )
    more = f"<p>… and {len(cells) - MAX_ROWS} more</p>" if len(cells) > MAX_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def paragraph(text: str, *, strong: str = "") -> str:
    """A paragraph, with something in bold before it if wanted."""
    before = f"<strong>{escape(strong)}</strong> " if strong else ""
    return f"<p>{before}{escape(text)}</p>"


def folded(summary: str, inner: str) -> str:
    """What opens when its heading is clicked; the inner HTML is taken as it is."""
    return f"<details><summary>{escape(summary)}</summary>{inner}</details>" if inner else ""
