"""Figures for papers, by matplotlib (the extra `plot`): graph, heat map, factors and concepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from ucad.consensus.support import Graph, Support
from ucad.effects import RegimePredictions
from ucad.errors import InvalidInputError, MissingDependencyError
from ucad.graph import FactorGraph
from ucad.report.charts import block_order
from ucad.report.layout import Place, low_level_layout
from ucad.report.support_panel import weak_edges
from ucad.report.words import cut
from ucad.scm import FactorSCM

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "factor_concept_figure",
    "factor_path_figure",
    "graph_figure",
    "heat_map_figure",
    "prediction_figure",
]

UP, DOWN, FACTOR, VARIABLE = "#0072b2", "#c04f00", "#33415c", "#5a626b"
NOT_STABLE = "#9aa1a9"
DIVERGING = "RdBu"
MOST_LABELS = 60
"""Names in a figure of the largest size: more would overlap."""

LONGEST_LABEL = 14
"""Characters of a name; longer ones are cut in the middle."""

WIDEST = 14.0
"""Largest width and height of a figure, in inches: twice a page."""


def graph_figure(scm: FactorSCM, support: Support | None = None) -> Figure:
    """Variables → factors → variables, causes to the left; thicker edges weigh more.

    Variables without edges are left out. Blue and full raises, orange and dashed lowers; for
    mechanisms that are not linear, weights have no sign and all edges are blue. Edges and factors
    that do not come back in fits on parts of the samples are dotted and grey.
    """
    graph, places = scm.graph, low_level_layout(scm.graph)
    x, y = zip(*places.values(), strict=True)
    width, height = 2 + 1.4 * (max(x) - min(x)), 1.2 + 0.3 * (max(y) - min(y))
    figure = _figure(min(WIDEST, max(4.0, width)), min(WIDEST, max(2.5, height)))
    axes = figure.add_subplot()
    into, out_of = _signed_weights(scm)
    weak = weak_edges(support, Graph.Q) | weak_edges(support, Graph.R)
    for matrix, weight, inward in ((graph.Q, into, True), (graph.R, out_of, False)):
        largest = max(float(np.abs(weight).max(initial=0.0)), 1e-12)
        for i, k in np.argwhere(matrix):
            ends = (graph.variable_names[i], graph.factor_names[k])
            ends = ends if inward else ends[::-1]
            source, target = (places[name] for name in ends)
            _arrow(axes, source, target, float(weight[i, k]) / largest, is_weak=ends in weak)
    small = len(places) > MOST_LABELS
    for name, place in places.items():
        is_weak = support is not None and name in graph.factor_names
        is_weak = is_weak and support is not None and not support.stable_factor(name)
        _node(axes, graph, name, place, small=small, is_weak=is_weak)
    axes.set_xlim(min(x) - 0.6, max(x) + 0.6)
    axes.set_ylim(max(y) + 1.0, min(y) - 1.0)
    axes.set_axis_off()
    return figure


def heat_map_figure(scm: FactorSCM) -> Figure:
    """Q above R, a row a factor, variables sorted so that blocks show; colour is the weight."""
    graph = scm.graph
    figure = _figure(10.0, 2.6 + 0.5 * graph.n_factors)
    for number, (name, edges, weight) in enumerate(
        zip("QR", (graph.Q, graph.R), _signed_weights(scm), strict=True)
    ):
        columns = block_order(edges, weight, graph.factor_order)
        axes = figure.add_subplot(2, 1, number + 1)
        values = weight[np.ix_(columns, graph.factor_order)].T
        names = [graph.variable_names[i] for i in columns]
        _matrix(axes, values, [graph.factor_names[k] for k in graph.factor_order], names)
        axes.set_title("made from (Q)" if name == "Q" else "drives (R)", loc="left", fontsize=9)
    return figure


def factor_concept_figure(
    matrix: Float[np.ndarray, "factors concepts"],
    factor_names: Sequence[str],
    concept_names: Sequence[str],
) -> Figure:
    """How learned factors relate to known concepts: a matrix of correlations, with its numbers.

    Concepts are sorted so that those of one factor stand together.
    """
    if matrix.shape != (len(factor_names), len(concept_names)):
        raise InvalidInputError(
            f"The 'matrix' must have one row per factor and one column per concept, "
            f"{(len(factor_names), len(concept_names))}. Got shape {matrix.shape} instead."
        )
    order = np.lexsort((-np.abs(matrix).max(axis=0), np.abs(matrix).argmax(axis=0)))
    figure = _figure(2.5 + 0.6 * len(concept_names), 1.8 + 0.4 * len(factor_names))
    axes = figure.add_subplot()
    values = matrix[:, order]
    _matrix(axes, values, factor_names, [concept_names[c] for c in order], limit=1.0)
    if values.size <= 400:
        for (row, column), value in np.ndenumerate(values):
            colour = "white" if abs(value) > 0.6 else "black"
            text = f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=7)
    return figure


def factor_path_figure(factors: Mapping[str, Any]) -> Figure:
    """The held-out NLL over the number of factors, adequate numbers filled.

    Args:
        factors: the JSON of a `FactorPath`.
    """
    steps = factors["steps"]
    m, nll, error = ([s[key] for s in steps] for key in ("n_factors", "nll", "standard_error"))
    figure = _figure(5.0, 3.2)
    axes = figure.subplots()
    axes.errorbar(m, nll, yerr=error, color=VARIABLE, linewidth=1.2, capsize=3, zorder=1)
    colours = [UP if step["is_adequate"] else "white" for step in steps]
    axes.scatter(m, nll, c=colours, edgecolors=UP, zorder=2)
    direct = factors["without_factors"]
    if direct is not None:
        axes.axhline(direct["nll"], color=DOWN, linestyle="--", linewidth=1)
        axes.annotate("direct edges", (m[-1], direct["nll"]), color=DOWN, ha="right", va="bottom")
    axes.axvline(factors["n_factors"], color=FACTOR, linewidth=0.8, alpha=0.5)
    axes.set_xticks(m)
    axes.set_xlabel("number of factors (filled: adequate)")
    axes.set_ylabel("held-out NLL per variable, nats")
    return figure


def prediction_figure(found: RegimePredictions) -> Figure:
    """Predicted against measured changes: a point per regime and variable that is no target."""
    free = ~found.changes.targets
    predicted, measured = found.predicted["ucad"][free], found.changes.change[free]
    figure = _figure(4.6, 4.2)
    axes = figure.subplots()
    axes.axline((0, 0), slope=1, color=VARIABLE, linewidth=0.8)
    axes.scatter(predicted, measured, s=8, alpha=0.4, color=UP, linewidths=0)
    axes.set_xlabel("predicted change, sd of controls")
    axes.set_ylabel("measured change, sd of controls")
    return figure


def _figure(width: float, height: float) -> Figure:
    """A figure of its own: no global state of pyplot, no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError("matplotlib", "plot", "A static figure") from error
    return Figure(figsize=(min(WIDEST, width), min(WIDEST, height)), layout="constrained")


def _signed_weights(scm: FactorSCM) -> tuple[np.ndarray, np.ndarray]:
    """The weights of the edges of Q and R, variables × factors; unsigned if not linear."""
    weights = []
    for mechanism in (scm.factor_mechanism, scm.variable_mechanism):
        weight = getattr(mechanism, "weight", None)
        weights.append((mechanism.uses() if weight is None else weight).detach().cpu().numpy())
    return weights[0].T.astype(np.float64), weights[1].astype(np.float64)


def _arrow(
    axes: Axes, source: Place, target: Place, weight: float, *, is_weak: bool = False
) -> None:
    style = {"color": UP if weight >= 0 else DOWN, "linestyle": "-" if weight >= 0 else "--"}
    if is_weak:
        style = {"color": NOT_STABLE, "linestyle": ":"}
    arrow = {"arrowstyle": "-|>", "lw": 0.5 + 1.8 * abs(weight), "shrinkA": 14, "shrinkB": 14}
    axes.annotate("", xy=target, xytext=source, arrowprops={**style, **arrow, "alpha": 0.8})


def _node(
    axes: Axes, graph: FactorGraph, name: str, place: Place, *, small: bool, is_weak: bool
) -> None:
    is_factor = name in graph.factor_names
    box = {
        "boxstyle": "round,pad=0.3",
        "facecolor": NOT_STABLE if is_weak else FACTOR if is_factor else "white",
        "edgecolor": FACTOR if is_factor else VARIABLE,
        "linestyle": ":" if is_weak else "-",
        "linewidth": 0.8,
    }
    size = 9 if is_factor else 5 if small else 7
    colour = "white" if is_factor else "black"
    text = _plain(name)
    axes.text(*place, text, ha="center", va="center", fontsize=size, color=colour, bbox=box)


def _matrix(
    axes: Axes,
    values: Float[np.ndarray, "rows columns"],
    row_names: Sequence[str],
    column_names: Sequence[str],
    *,
    limit: float | None = None,
) -> None:
    largest = max(float(np.abs(values).max(initial=0.0)), 1e-12) if limit is None else limit
    picture = axes.imshow(values, cmap=DIVERGING, vmin=-largest, vmax=largest, aspect="auto")
    axes.set_yticks(_positions(row_names), [_plain(name) for name in row_names], fontsize=8)
    if len(column_names) <= MOST_LABELS:
        names = [_plain(name) for name in column_names]
        axes.set_xticks(_positions(names), names, rotation=60, ha="right", fontsize=7)
    else:
        axes.set_xticks([])
        axes.set_xlabel(f"{len(column_names)} variables", fontsize=8)
    assert axes.figure is not None
    axes.figure.colorbar(picture, ax=axes, shrink=0.9)


def _positions(names: Sequence[str]) -> Int[np.ndarray, " names"]:
    return np.arange(len(names))


def _plain(name: str) -> str:
    """Cut, and with `$` taken literally: matplotlib reads it as mathematics."""
    return cut(name, LONGEST_LABEL).replace("$", r"\$")
