"""The table of concepts by behaviour, from its rows: `python -m experiments.behaviour --page`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["table_lines"]

Row = dict[str, Any]
SCORES = {
    "the factor": "score",
    "copy of the output": "copy output",
    "random, table (largest of 5)": "random, table (largest)",
    "PCA, table": "PCA, table",
    "raw input, table (largest of 5)": "raw input, table (largest)",
    "untrained network": "untrained network",
    "supervised direction": "supervised direction",
}
NONE = "none"
"""The concept of a function without any, and what is found if nothing is."""


def table_lines(rows: Sequence[Row]) -> list[str]:
    """Markdown: one line per study and function; ranges over networks, gaps and concepts.

    A concept counts as missed in a gap whose factors are other ones, and as certified where swaps
    agree with the network's own answers in at least 0.95 of the pairs.
    """
    heads = ["networks", "concepts in a gap", "found", "certified", *SCORES]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    named = dict.fromkeys((row["study"], row.get("function", "")) for row in rows)
    for study, function in named:
        own = [row for row in rows if (row["study"], row.get("function", "")) == (study, function)]
        lines.append(f"| {' | '.join(_cells(study, function, own))} |")
    return lines


def _cells(study: str, function: str, rows: Sequence[Row]) -> Iterator[str]:
    networks = {(row["seed"], row.get("activation", "")) for row in rows}
    yield f"{study}{': ' * bool(function)}{function} ({len(networks)})"
    if rows[0].get("concept") == NONE:
        silent = sum(row["found"] == NONE for row in rows)
        yield from ("none", f"none in {silent} of {len(rows)}", *["–"] * (1 + len(SCORES)))
        return
    found = [row for row in rows if "score" in row]
    certified = sum(row["agreement"] >= 0.95 for row in found)
    yield from (str(len(rows)), str(len(found)), str(certified))
    for kind in SCORES.values():
        values = [row[kind] for row in found]
        yield f"{min(values):.3f}–{max(values):.3f}" if values else "–"
