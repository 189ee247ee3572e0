"""Figures: our graphs beside the paper's means, and what happens beyond the paper's settings."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from experiments.cells import CELLS, rows_of
from experiments.tables import values_of

mpl.use("Agg")

from matplotlib import pyplot as plt

__all__ = ["draw_beyond", "draw_calibration", "draw_claims", "draw_reproduction"]

Row = Mapping[str, Any]
BLUE, GREY = "#2a6f97", "#9a9a9a"
LABELS = {
    "mcc_pearson": "MCC, Pearson",
    "exact": "share of exact graphs",
    "validation_nll": "validation NLL",
}
TITLE_WIDTH = 30
"""Characters of a line of the title of a small diagram."""

COLOURS = ("#2a6f97", "#c8553d", "#588157", "#7b4b94")


def draw_reproduction(rows: Sequence[Row], paper: Mapping[str, Any], path: Path) -> None:
    """The MCC of every graph beside the paper's mean ± std, cell by cell."""
    cells = [cell for cell in CELLS if list(rows_of(rows, cell))]
    figure, axes = plt.subplots(1, 2, figsize=(10, 0.6 + 0.28 * max(3, len(cells))), sharey=True)
    for axis, name in zip(axes, ("mcc_pearson", "mcc_rdc"), strict=True):
        for y, cell in enumerate(cells):
            published = paper.get(cell.setting, {}).get(cell.size)
            if published:
                mean, std = published[name]
                axis.errorbar(mean, y, xerr=std, fmt="s", color=GREY, capsize=3)
            own = list(rows_of(rows, cell))
            ours = values_of(own, name)
            axis.plot(ours, np.full(len(ours), y), "o", color=BLUE, alpha=0.5, markersize=5)
            top = values_of(own, f"ceiling.{name}")
            if len(top):
                axis.plot(top.mean(), y, "|", color="black", markersize=12)
        axis.set(xlim=(0, 1.02), xlabel=name.replace("mcc_", "MCC, "))
        axis.grid(axis="x", alpha=0.3)
    axes[0].set_yticks(range(len(cells)), [str(cell) for cell in cells])
    axes[0].invert_yaxis()
    marks = [
        axes[0].plot([], [], mark, color=colour)[0]
        for mark, colour in (("s", GREY), ("o", BLUE), ("|", "black"))
    ]
    names = ["paper, mean ± std", "ours, each graph", "from the true graph"]
    figure.legend(marks, names, loc="outside upper center", ncols=3, frameon=False, fontsize=8)
    _save(figure, path)


def draw_beyond(
    lines: Mapping[str, Sequence[tuple[str, bool, Sequence[Row]]]],
    title: str,
    second: str,
    path: Path,
) -> None:
    """MCC and a second figure against what is varied; a star marks the paper's setting.

    Args:
        lines: by cell, the label of every value, whether it is the paper's, and its rows.
        title: what is varied.
        second: the name of the figure in the right panel.
        path: the file.
    """
    figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    labels = list(dict.fromkeys(label for points in lines.values() for label, _, _ in points))
    for axis, name in zip(axes, ("mcc_pearson", second), strict=True):
        for colour, (cell, points) in zip(COLOURS, lines.items(), strict=False):
            filled = [(label, star, own) for label, star, own in points if own]
            x = [labels.index(label) for label, _, _ in filled]
            y = [values_of(own, name) for _, _, own in filled]
            means = [values.mean() for values in y]
            axis.plot(x, means, "-", color=colour, label=cell)
            for at, values in zip(x, y, strict=True):
                axis.plot(np.full(len(values), at), values, ".", color=colour, alpha=0.4)
            stars = [at for at, (_, star, _) in enumerate(filled) if star]
            axis.plot([x[s] for s in stars], [means[s] for s in stars], "*", color=colour, ms=13)
        axis.set_xticks(range(len(labels)), labels)
        axis.set(xlabel=title, ylabel=LABELS[name])
        axis.grid(alpha=0.3)
    axes[0].set_ylim(0, 1.02)
    axes[0].legend(frameon=False, fontsize=8, title="★ the paper's setting", title_fontsize=8)
    _save(figure, path)


def draw_calibration(
    rows: Sequence[Row], worlds: Sequence[str], bins: Sequence[float], path: Path
) -> None:
    """A reliability diagram per world: the share of right edges against their support.

    Blue: consensuses of models that passed their tests; grey: of those that did not.
    """
    from experiments.calibration import shares
    from ucad.consensus.error_control import wilson

    names = [name for name in worlds if any(row["task"]["world"] == name for row in rows)]
    n_columns = 5
    n_rows = -(-len(names) // n_columns)
    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=(11, 2.3 * n_rows), layout="constrained", squeeze=False
    )
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    for axis, name in zip(axes.flat, names, strict=False):
        own = [row["result"] for row in rows if row["task"]["world"] == name]
        for passed, colour in ((False, GREY), (True, BLUE)):
            some = [one for one in own if one.get("passed") is passed]
            for low, high in pairwise(bins):
                right, total = shares(some, "A", low, high)
                if total:
                    bottom, top = wilson(right, total)
                    at = (low + high) / 2 + (0.015 if passed else -0.015)
                    axis.plot([at, at], [bottom, top], color=colour, lw=1)
                    axis.plot(at, right / total, "o", color=colour, ms=2.5 + np.log10(total))
        axis.plot([0, 1], [0, 1], color="black", lw=0.5, ls=":")
        axis.axhline(0.9, color="black", lw=0.4)
        axis.axvline(bins[-2], color="black", lw=0.4)
        n_passed = sum(bool(one.get("passed")) for one in own)
        title = textwrap.fill(name, TITLE_WIDTH)
        axis.set_title(f"{title}\n{n_passed} of {len(own)} passed", fontsize=7)
        axis.set(xlim=(0, 1), ylim=(0, 1.02))
        axis.tick_params(labelsize=6)
    figure.supxlabel("support of an edge between variables", fontsize=8)
    figure.supylabel("share of these edges that are right", fontsize=8)
    _save(figure, path)


def draw_claims(rows: Sequence[Row], path: Path) -> None:
    """How the graph of each case was answered, as stacked bars; over-claims stand out."""
    names = list(dict.fromkeys(row["case"] for row in rows))
    total = np.array([sum(row["case"] == name for row in rows) for name in names])
    colours = {
        "over-claim": "#c8553d",
        "yes": BLUE,
        "partly": "#8fb8d0",
        "not known": "#cccccc",
        "no": "#777777",
    }
    figure, axis = plt.subplots(figsize=(8, 0.8 + 0.2 * len(names)), layout="constrained")
    left = np.zeros(len(names))
    for label, colour in colours.items():
        own = [row for row in rows if _answer(row) == label]
        share = np.array([sum(row["case"] == name for row in own) for name in names]) / total
        axis.barh(names, share, left=left, color=colour, label=label)
        left += share
    axis.set(xlim=(0, 1), ylim=(len(names) - 0.5, -0.5))
    axis.set_xlabel("share of fits, by what was answered of the graph")
    figure.legend(loc="outside upper center", ncols=len(colours), frameon=False, fontsize=8)
    _save(figure, path)


def _answer(row: Row) -> str:
    return "over-claim" if row["over_claims"] else str(row["answers"]["graph"])


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90, bbox_inches="tight")
    plt.close(figure)
