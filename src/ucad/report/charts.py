"""Charts of the page as SVG text: heat maps of Q and R, and curves of the fit.

Colours are classes, so that the page's style sheet decides them for light, dark and print.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.report.words import cut

__all__ = ["X_KEYS", "Curve", "HeatMap", "block_order", "curves", "heat_map", "line_chart", "ticks"]

ROW, LABEL, SPACE, NARROWEST, WIDEST = 24, 92, 860, 3.0, 30.0
"""Of a heat map, in pixels: height of a row, width of its label, width left for all columns (all
fit into the page, 72 letters' heights wide), and bounds on the width of one."""

LABELLED_FROM = 13.0
"""Columns at least this wide have room for the name of their variable."""

LONGEST_LABEL = 13
"""Characters of a label: what fits into its 92 pixels."""

MOST_CURVES = 8
"""Charts of the history of a fit: a screenful."""

MOST_SERIES = 6
"""Lines in one chart: more colours cannot be told apart."""

MOST_POINTS = 400
"""Points of a line: one for every pixel or two of its width."""

X_KEYS = ("epoch", "step", "iteration", "round")
"""What counts along a training; a row of a history without any is a stage."""


def block_order(
    edges: Bool[np.ndarray, "variables factors"],
    strength: Float[np.ndarray, "variables factors"],
    factor_order: Int[np.ndarray, " factors"],
) -> Int[np.ndarray, " used"]:
    """Variables with an edge, sorted by their strongest factor, and by strength within it."""
    used = np.flatnonzero(edges.any(axis=1))
    size = np.where(edges, np.abs(strength), -1.0)[used][:, factor_order]
    strongest = size.argmax(axis=1) if size.size else np.zeros(len(size), dtype=np.int64)
    return used[np.lexsort((-size.max(axis=1, initial=0.0), strongest))]


class HeatMap(NamedTuple):
    """What a heat map shows: strengths, variables × factors, where there are edges."""

    edges: Bool[np.ndarray, "variables factors"]
    strength: Float[np.ndarray, "variables factors"]
    mixed: Bool[np.ndarray, "variables factors"]
    variable_names: Sequence[str]
    factor_names: Sequence[str]


def heat_map(content: HeatMap, factor_order: Int[np.ndarray, " factors"], label: str) -> str:
    """An SVG with a row a factor and a column a variable that has an edge."""
    columns = block_order(content.edges, content.strength, factor_order)
    width = min(WIDEST, max(NARROWEST, SPACE / max(1, len(columns))))
    labelled = width >= LABELLED_FROM
    longest = max((len(content.variable_names[i]) for i in columns), default=0)
    top, bottom = 4, (14 + 6 * min(LONGEST_LABEL, longest) if labelled else 8)
    height = top + ROW * len(factor_order) + bottom
    total = LABEL + width * len(columns) + 8
    largest = max(float(np.abs(content.strength).max(initial=0.0)), 1e-12)
    parts = [
        f'<svg class="heat" role="img" aria-label="{escape(label)}" width="{total:.0f}" '
        f'height="{height}" viewBox="0 0 {total:.0f} {height}">'
    ]
    for row, k in enumerate(factor_order.tolist()):
        y = top + row * ROW
        name = content.factor_names[k]
        parts.append(
            f'<text x="{LABEL - 8}" y="{y + ROW / 2 + 4:.0f}" text-anchor="end">{_short(name, 11)}'
            f'</text><rect class="track" x="{LABEL}" y="{y + 1}" '
            f'width="{width * len(columns):.1f}" height="{ROW - 2}"/>'
        )
        parts += [
            _cell(content, i, k, (LABEL + at * width, y + 1.0, width), largest)
            for at, i in enumerate(columns.tolist())
            if content.edges[i, k]
        ]
    if labelled:
        y = top + ROW * len(factor_order) + 8
        parts += [
            f'<text class="column" transform="translate({LABEL + (at + 0.5) * width + 4:.1f} {y}) '
            f'rotate(-60)" text-anchor="end">'
            f"{_short(content.variable_names[i], LONGEST_LABEL)}</text>"
            for at, i in enumerate(columns)
        ]
    return "".join([*parts, "</svg>"])


def _cell(content: HeatMap, i: int, k: int, box: tuple[float, float, float], largest: float) -> str:
    strength, mixed = float(content.strength[i, k]), bool(content.mixed[i, k])
    kind = "mixed" if mixed else "up" if strength >= 0 else "down"
    x, y, width = box
    gap = 1.0 if width > 5 else 0.0
    value = f"±{abs(strength):.2f}" if mixed else f"{strength:+.2f}"
    title = escape(f"{content.variable_names[i]}, {content.factor_names[k]}: {value}")
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.0f}" width="{width - gap:.1f}" '
        f'height="{ROW - 2}" fill-opacity="{0.25 + 0.75 * abs(strength) / largest:.2f}">'
        f"<title>{title}</title></rect>"
    )


class Curve(NamedTuple):
    """One quantity over the fit: for every series its name, x and y."""

    name: str
    x_name: str
    series: list[tuple[str, list[float], list[float]]]


def curves(history: Sequence[Mapping[str, Any]]) -> list[Curve]:
    """The numeric columns of a history, each against its epoch or step, one series a stage."""
    x_name = next((key for key in X_KEYS if any(key in row for row in history)), "row")
    names = dict.fromkeys(
        key
        for row in history
        for key, value in row.items()
        if key not in (*X_KEYS, "stage") and _is_number(value)
    )
    found = []
    for name in list(names)[:MOST_CURVES]:
        stages: dict[str, tuple[list[float], list[float]]] = {}
        for at, row in enumerate(history):
            if _is_number(row.get(name)) and _is_number(row.get(x_name, at)):
                x, y = stages.setdefault(str(row.get("stage", "")), ([], []))
                x.append(float(row.get(x_name, at)))
                y.append(float(row[name]))
        series = [(stage, *_thinned(*points)) for stage, points in stages.items()]
        found.append(Curve(name, x_name, series[:MOST_SERIES]))
    return [curve for curve in found if any(len(y) > 1 for _, _, y in curve.series)]


def line_chart(curve: Curve) -> str:
    """An SVG of 320 × 180 that scales with its column."""
    left, right, top, bottom = 52.0, 300.0, 10.0, 148.0
    x_ticks = ticks([v for _, x, _ in curve.series for v in x])
    y_ticks = ticks([v for _, _, y in curve.series for v in y])

    def place(value: float, ticks: list[float], low: float, high: float) -> float:
        return low + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (high - low)

    parts = [
        f'<svg class="chart" viewBox="0 0 320 180" role="img" aria-label="{escape(curve.name)}">'
    ]
    for tick in y_ticks:
        y = place(tick, y_ticks, bottom, top)
        parts.append(
            f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{left - 5}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>'
        )
    for tick in x_ticks:
        x = place(tick, x_ticks, left, right)
        parts.append(f'<text x="{x:.1f}" y="163" text-anchor="middle">{tick:g}</text>')
    parts.append(
        f'<text x="{(left + right) / 2}" y="177" text-anchor="middle">{escape(curve.x_name)}</text>'
    )
    for number, (name, xs, ys) in enumerate(curve.series):
        points = " ".join(
            f"{place(x, x_ticks, left, right):.1f},{place(y, y_ticks, bottom, top):.1f}"
            for x, y in zip(xs, ys, strict=True)
        )
        title = f"<title>{escape(name)}</title>" if name else ""
        parts.append(f'<polyline class="line s{number}" points="{points}">{title}</polyline>')
    return "".join([*parts, "</svg>"])


def ticks(values: Sequence[float], count: int = 4) -> list[float]:
    """Round numbers that enclose the values.

    >>> ticks([0.2, 3.7])
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    low, high = min(values), max(values)
    if high - low < 1e-12 * max(1.0, abs(high)):
        low, high = low - 0.5 * max(1.0, abs(low)), high + 0.5 * max(1.0, abs(high))
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _thinned(x: list[float], y: list[float]) -> tuple[list[float], list[float]]:
    if len(x) <= MOST_POINTS:
        return x, y
    keep = np.linspace(0, len(x) - 1, MOST_POINTS).astype(int)
    return [x[at] for at in keep], [y[at] for at in keep]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _short(name: str, most: int) -> str:
    """Escaped, cut to a length, with the whole name as its tooltip."""
    if len(name) <= most:
        return escape(name)
    return f"<title>{escape(name)}</title>{escape(cut(name, most))}"
