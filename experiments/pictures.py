"""Pictures of the documentation: `python -m experiments.pictures` writes docs/figures/*.svg."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from ucad.graph import transitive_closure
from ucad.report.figures import graph_figure
from ucad.scm.families import AFFINE
from ucad.simulate import world_problem
from ucad.solvers.problem import Problem
from ucad.solvers.search import fit_search
from ucad.solvers.search.search import Search

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["idea", "main", "search"]

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
BLUE, ORANGE, DARK, GREY = "#0072b2", "#c04f00", "#33415c", "#9aa1a9"
SEED = 3
"""Of the screen in the pictures of the search: a development seed."""

Point = tuple[float, float]
UP = {"Z1": ("X1", "X2"), "Z2": ("X3", "X4"), "Z3": ("X4", "X6")}
DOWN = {"Z1": ("X4",), "Z2": ("X6",), "Z3": ("X5",)}
"""The f-DAG of the paper's first figure: parents and children of its factors."""


def idea() -> Figure:
    """Many variables, the few factors between them, and the small model of the factors alone."""
    figure = Figure(figsize=(9.6, 3.5))
    low, middle, high = figure.subplots(1, 3, width_ratios=(1.05, 1.25, 0.8))
    x = {"X1": (0, 2.6), "X2": (0, 1.7), "X3": (0, 0.6), "X4": (1.2, 1.9)}
    x |= {"X6": (1.9, 0.7), "X5": (2.6, 1.6)}
    wide = {name: (1.75 * a, b) for name, (a, b) in x.items()}
    z = {"Z1": (1.05, 2.5), "Z2": (1.9, 0.55), "Z3": (3.75, 2.35)}
    for factor, parents in UP.items():
        for parent in parents:
            for child in DOWN[factor]:
                _arrow(low, x[parent], x[child], GREY)
            _arrow(middle, wide[parent], z[factor], BLUE)
        for child in DOWN[factor]:
            _arrow(middle, z[factor], wide[child], ORANGE)
    z_alone = {"Z1": (0, 2.3), "Z2": (0.2, 0.7), "Z3": (1.5, 1.6)}
    for a, b in (("Z1", "Z2"), ("Z1", "Z3"), ("Z2", "Z3")):
        _arrow(high, z_alone[a], z_alone[b], DARK)
    _nodes(low, x, factors=False)
    _nodes(middle, wide, factors=False)
    _nodes(middle, z, factors=True)
    _nodes(high, z_alone, factors=True)
    titles = (
        "many variables, measured\nand acted on: the low level ℒ",
        "few factors between them,\nfound by ucad",
        "their own causal model:\nthe high level ℋ",
    )
    for axes, title in zip((low, middle, high), titles, strict=True):
        axes.set_title(title, fontsize=10.5, color=DARK)
        axes.margins(0.16)
        axes.set_axis_off()
    figure.text(
        0.5,
        0.02,
        "τ: what the factors are, given the variables          "
        "ω: what acting on variables does to the factors",
        ha="center",
        fontsize=10,
        color=DARK,
    )
    figure.subplots_adjust(left=0.01, right=0.99, top=0.84, bottom=0.1, wspace=0.08)
    return figure


def _arrow(axes: Axes, start: Point, end: Point, colour: str) -> None:
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=13,
            shrinkA=13,
            shrinkB=13,
            color=colour,
            linewidth=1.6,
            connectionstyle="arc3,rad=0.06",
        )
    )


def _nodes(axes: Axes, places: dict[str, Point], *, factors: bool) -> None:
    face, edge, text = (DARK, DARK, "white") if factors else ("white", GREY, DARK)
    for name, (x, y) in places.items():
        axes.scatter([x], [y], s=560, marker="s" if factors else "o", c=face, edgecolors=edge)
        axes.text(x, y, name, ha="center", va="center", fontsize=9, color=text)
    axes.autoscale_view()


def search() -> dict[str, Figure]:
    """What the search makes of a small screen, stage by stage."""
    world = world_problem("screen-chain", seed=SEED, parents=3, children=4)
    m = world.asked_factors
    started = Search(Problem.of(world.train, m, (AFFINE, AFFINE)))
    prepared = started.prepare()
    evidence = prepared.causes.evidence
    assert evidence is not None
    result = fit_search(world.train, m, families=(AFFINE, AFFINE), validation=world.validation)
    values = np.stack([f.values(world.test.x) for f in prepared.pool])
    graph = graph_figure(result.scm)
    graph.suptitle("4. The model that was found", fontsize=11)
    return {
        "search-evidence": _evidence(evidence.nats, np.asarray(world.adjacency)),
        "search-candidates": _candidates(values, world.factors),
        "search-stages": _stages(result.history),
        "search-graph": graph,
    }


def _evidence(nats: np.ndarray, adjacency: np.ndarray) -> Figure:
    figure = Figure(figsize=(6.2, 5.2))
    axes = figure.add_subplot()
    image = axes.imshow(np.log10(1 + nats), cmap="Blues")
    for i, j in np.argwhere(transitive_closure(adjacency)):
        axes.scatter([j], [i], s=16, marker="s", facecolors="none", edgecolors=ORANGE)
    names = [f"X{i + 1}" for i in range(len(nats))]
    axes.set_xticks(range(len(nats)), names, rotation=90, fontsize=7)
    axes.set_yticks(range(len(nats)), names, fontsize=7)
    axes.set_xlabel("effect")
    axes.set_ylabel("variable that was acted on")
    axes.set_title("1. What interventions show (squares: true ancestors)", fontsize=11)
    figure.colorbar(image, label="log₁₀(1 + nats of evidence)", shrink=0.8)
    return figure


def _candidates(values: np.ndarray, factors: np.ndarray) -> Figure:
    figure = Figure(figsize=(7.2, 3.4))
    axes = figure.add_subplot()
    n = len(values)
    related = np.abs(np.corrcoef(values, factors.T))[:n, n:]
    order = np.lexsort((-related.max(axis=1), related.argmax(axis=1)))
    image = axes.imshow(related[order].T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.set_yticks(range(factors.shape[1]), [f"Z{k + 1}" for k in range(factors.shape[1])])
    axes.set_xlabel(f"{n} candidates: what some variable is a function of")
    axes.set_ylabel("true factor")
    axes.set_title("2. Regressions are candidate factors", fontsize=11)
    figure.colorbar(image, label="|correlation|")
    return figure


def _stages(history: object) -> Figure:
    rows = [row for row in history if isinstance(row.get("score"), float)]  # type: ignore[attr-defined]
    figure = Figure(figsize=(7.2, 3.2))
    axes = figure.add_subplot()
    scores = [row["score"] for row in rows]
    axes.step(range(len(rows)), scores, where="post", color=BLUE)
    axes.scatter(range(len(rows)), scores, color=BLUE, s=18)
    axes.set_xticks(
        range(len(rows)), [row["stage"] for row in rows], rotation=25, ha="right", fontsize=8
    )
    axes.set_ylabel("score, in nats")
    axes.set_title("3. Every stage is accepted on one score of the whole model", fontsize=11)
    return figure


def main() -> None:
    """Writes all pictures."""
    mpl.rcParams["svg.hashsalt"] = "ucad"
    FOLDER.mkdir(exist_ok=True)
    for name, figure in {"idea": idea(), **search()}.items():
        path = FOLDER / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None}, bbox_inches="tight", facecolor="white")
        print(path.relative_to(FOLDER.parents[1]))


if __name__ == "__main__":
    main()
