"""Hidden targets: how many of those that a screen does not measure are found, by number of cells.

`python -m experiments.unmeasured -o ROWS` appends one row per world, size and seed. In `planted`
the labels of half of the regimes are withheld, so that a hidden regime shifts one to three
variables; in `unmeasured-targets` inputs of factors are not measured, so that it acts on a factor.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.running import append_row, provenance, read_rows
from ucad.data import InterventionalData
from ucad.metrics import compare_structure
from ucad.simulate.worlds import WorldProblem, world_problem
from ucad.solvers import FitResult
from ucad.solvers.registry import SolveSettings, solve

__all__ = ["draw", "hide_half", "main", "row", "table"]

SAMPLES = (1_000, 2_000, 4_000, 8_000)
"""Samples in all, over 21 regimes of the world `planted`: about 50 to 380 cells per regime."""

_LINES = (("precision", "right_sets", "found", "o-"), ("recall", "right", "true", "s--"))
"""What the figure shows: its name, what is counted, of how many, and the style."""


def hide_half(data: InterventionalData) -> InterventionalData:
    """The data with every second regime's targets withheld; its name becomes `hidden r`."""
    hidden = np.arange(data.n_regimes) % 2 == 1
    names = [
        f"hidden {r}" if h else name
        for r, (h, name) in enumerate(zip(hidden, data.regime_names, strict=True))
    ]
    clear = data.is_intervened & ~hidden[data.regime][:, None]
    return replace(data, is_intervened=clear, regime_names=tuple(names))


def row(world: str, n_samples: int, seed: int, value: float = -0.5) -> dict[str, Any]:
    """How many "acts on" sets hold a true node, and how many true nodes are in one."""
    if world == "unmeasured-targets":
        problem = world_problem(world, seed, samples_per_regime=n_samples // 20)
        train, validation = problem.train, problem.validation
    else:
        problem = world_problem(world, seed, n_samples=n_samples, action="shift", value=value)
        train, validation = (hide_half(part) for part in (problem.train, problem.validation))
    asked = SolveSettings(
        n_factors=problem.asked_factors,
        factor_mechanism="linear",
        variable_mechanism="linear",
        unmeasured="infer",
    )
    result = solve(train, asked, validation=validation)
    found = [{(action.regime, node) for node in action.nodes} for action in result.acts_on]
    true = _true_pairs(problem, train, result)
    hidden = np.flatnonzero(train.acts_on_hidden)
    return {
        "world": world,
        "n_samples": n_samples,
        "cells": int(np.median([(train.regime == r).sum() for r in hidden])),
        "seed": seed,
        "found": len(found),
        "true": len(true),
        "right": len(true & set().union(*found)),
        "right_sets": sum(bool(one & true) for one in found),
        "nodes": sum(map(len, found)),
    }


def _true_pairs(
    problem: WorldProblem, train: InterventionalData, result: FitResult
) -> set[tuple[str, str]]:
    """The pairs that should be found; factors by the names of the learned ones they match."""
    names = problem.train.variable_names
    if problem.name != "unmeasured-targets":
        return {
            (train.regime_names[r], names[j])
            for r in np.unique(train.regime)
            for j in np.flatnonzero(problem.train.targets[r] & ~train.targets[r])
        }
    graph = problem.graph
    assert graph is not None, "a screen has factors"
    learned = result.scm.graph
    compared = compare_structure((learned.Q, learned.R), (graph.Q, graph.R))
    pairs = ((regime, compared.learned_of[k]) for regime, k in _moved_factors(problem))
    return {(regime, "nothing" if at is None else learned.factor_names[at]) for regime, at in pairs}


def _moved_factors(problem: WorldProblem) -> set[tuple[str, int]]:
    """Which factor every hidden regime moves: the one whose children move most."""
    data, graph = problem.train, problem.graph
    assert graph is not None, "a screen has factors"
    at_rest = data.x[data.regime == 0].mean(axis=0)
    moved = set()
    for name in data.unmeasured_regimes:
        rows = data.regime == data.regime_names.index(name)
        change = (data.x[rows].mean(axis=0) - at_rest) ** 2
        by_factor = [change[graph.R[:, k]].mean() for k in range(graph.n_factors)]
        moved.add((name, int(np.argmax(by_factor))))
    return moved


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """One line per world and size: precision and recall over all hidden regimes of all seeds."""
    lines = [
        "| world | cells per hidden regime | problems | sets that hold a true node: precision "
        "| nodes per set | true nodes in a set: recall |",
        "|---" * 6 + "|",
    ]
    for (world, _), each in _by_size(rows).items():
        found, true, right, right_sets, nodes = (
            sum(one[name] for one in each)
            for name in ("found", "true", "right", "right_sets", "nodes")
        )
        lines.append(
            f"| {world} | {_cells(each)} | {len(each)} "
            f"| {right_sets} of {found}: {right_sets / max(found, 1):.2f} "
            f"| {nodes / max(found, 1):.1f} | {right} of {true}: {right / max(true, 1):.2f} |"
        )
    return "\n".join(lines)


def draw(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Precision and recall against the number of cells in a hidden regime, one panel per world."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    sizes = _by_size(rows)
    worlds = list(dict.fromkeys(world for world, _ in sizes))
    figure, axes = plt.subplots(1, len(worlds), figsize=(4 * len(worlds), 3), squeeze=False)
    for axis, world in zip(axes[0], worlds, strict=True):
        groups = [each for (name, _), each in sizes.items() if name == world]
        cells = [_cells(each) for each in groups]
        for label, right, of, mark in _LINES:
            share = [
                sum(one[right] for one in each) / max(sum(one[of] for one in each), 1)
                for each in groups
            ]
            axis.plot(cells, share, mark, label=label)
        axis.set(xscale="log", ylim=(0, 1.05), xlabel="cells per hidden regime", title=world)
        axis.set_xticks(cells, [str(c) for c in cells])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0][0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _cells(rows: Iterable[Mapping[str, Any]]) -> int:
    return round(float(np.mean([one["cells"] for one in rows])))


def _by_size(
    rows: Iterable[Mapping[str, Any]],
) -> dict[tuple[str, int], list[Mapping[str, Any]]]:
    groups: dict[tuple[str, int], list[Mapping[str, Any]]] = defaultdict(list)
    for one in rows:
        groups[one["world"], one["n_samples"]].append(one)
    return dict(sorted(groups.items()))


def main() -> None:
    """Runs what has no row yet, prints the table and draws the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", nargs="+", default=["planted", "unmeasured-targets"])
    parser.add_argument("--samples", nargs="+", type=int, default=list(SAMPLES))
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 3))
    parser.add_argument("-o", "--rows", type=Path, default=Path("results/unmeasured.jsonl"))
    parser.add_argument("--figure", type=Path, default=None)
    options = parser.parse_args()
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    about, old = provenance(), read_rows(options.rows)
    done = {(one["world"], one["n_samples"], one["seed"]) for one in old}
    for task in product(options.worlds, options.samples, range(*options.seeds)):
        if task not in done:
            append_row(options.rows, {**row(*task), "about": about})
    rows = read_rows(options.rows)
    print(table(rows))
    if options.figure is not None:
        draw(rows, options.figure)


if __name__ == "__main__":
    main()
