"""Predicted against measured changes as an SVG: a point per regime and variable."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

import numpy as np

from ucad.effects import RegimePredictions
from ucad.report.charts import ticks

__all__ = ["Scatter", "prediction_scatter"]

MAX_POINTS = 600
"""Points drawn: every one takes some hundred bytes of the page."""


class Scatter(NamedTuple):
    """An SVG, and how many points it leaves out."""

    svg: str
    left_out: int


def prediction_scatter(found: RegimePredictions) -> Scatter | None:
    """Changes of variables that are no targets; None if nothing was predicted.

    Of too many, half are those with the largest predicted change, and half are spread evenly over
    the others. To choose by what was measured would show the largest noise.
    """
    predicted, measured = found.predicted["ucad"], found.changes.change
    shown = ~found.changes.targets & np.isfinite(predicted) & np.isfinite(measured)
    places = np.argwhere(shown)
    if not len(places):
        return None
    kept = places[_some(np.abs(predicted)[shown])]
    # The smallest are drawn first, so that what matters lies on top.
    points = [(found.changes.names[r], found.variable_names[j], r, j) for r, j in kept[::-1]]
    drawn = (kept[:, 0], kept[:, 1])
    axis = ticks([0.0, *predicted[drawn], *measured[drawn]])
    low, high = axis[0], axis[-1]

    def x(value: float) -> float:
        return 46 + (value - low) / (high - low) * 260

    def y(value: float) -> float:
        return 270 - (value - low) / (high - low) * 260

    parts = [_frame(axis, x, y)]
    for regime, variable, r, j in points:
        a, b = float(predicted[r, j]), float(measured[r, j])
        side = "held" if not found.is_seen[r] else "seen"
        text = escape(f"{regime}: {variable}, predicted {a:+.2f}, measured {b:+.2f}")
        parts.append(
            f'<circle class="{side}" cx="{x(a):.1f}" cy="{y(b):.1f}" r="3.5"><title>{text}</title>'
            "</circle>"
        )
    return Scatter("".join([*parts, "</svg>"]), len(places) - len(kept))


def _some(size: np.ndarray) -> np.ndarray:
    """Which points are drawn, the largest first."""
    order = np.argsort(-size, kind="stable")
    if len(order) <= MAX_POINTS:
        return order
    largest, rest = order[: MAX_POINTS // 2], np.sort(order[MAX_POINTS // 2 :])
    even = np.linspace(0, len(rest) - 1, MAX_POINTS // 2).astype(np.int64)
    return np.concatenate([largest, rest[even]])


def _frame(axis: list[float], x: object, y: object) -> str:
    assert callable(x)
    assert callable(y)
    left, right, bottom = x(axis[0]), x(axis[-1]), y(axis[0])
    head = (
        '<svg class="chart scatter" viewBox="0 0 320 306" role="img" '
        'aria-label="Predicted against measured changes">'
    )
    lines = [
        f'<line class="grid" x1="{left}" x2="{right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        f'<text x="{left - 5}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
        f'<text x="{x(tick):.1f}" y="{bottom + 14}" text-anchor="middle">{tick:g}</text>'
        for tick in axis
    ]
    ends = f'x1="{left}" y1="{bottom}" x2="{right}" y2="{y(axis[-1])}"'
    return "".join(
        [
            head,
            *lines,
            f'<line class="right" {ends}/>',
            f'<text x="{(left + right) / 2}" y="302" text-anchor="middle">predicted</text>',
            f'<text x="10" y="{(bottom + 10) / 2}" text-anchor="middle" '
            f'transform="rotate(-90 10 {(bottom + 10) / 2})">measured</text>',
        ]
    )
