"""Hidden targets: how many of those that a screen does not measure are found, by number of cells.

`python -m experiments.unmeasured` prints one row per world, size and seed. In `planted` the labels
of half of the regimes are withheld, so that a hidden regime shifts one to three variables; in
`unmeasured-targets` inputs of factors are not measured, so that it acts on a factor.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

import numpy as np

from ucad.data import InterventionalData
from ucad.metrics import compare_structure
from ucad.simulate.worlds import WorldProblem, world_problem
from ucad.solvers import FitResult
from ucad.solvers.registry import SolveSettings, solve

__all__ = ["hide_half", "main", "row"]

SAMPLES = (1_000, 2_000, 4_000, 8_000)
"""Samples in all, over 21 regimes of the world `planted`: about 50 to 380 cells per regime."""


def hide_half(data: InterventionalData) -> InterventionalData:
    """The data with every second regime's targets withheld; its name becomes `hidden r`."""
    hidden = np.arange(data.n_regimes) % 2 == 1
    names = [
        f"hidden {r}" if h else name
        for r, (h, name) in enumerate(zip(hidden, data.regime_names, strict=True))
    ]
    clear = data.is_intervened & ~hidden[data.regime][:, None]
    return replace(data, is_intervened=clear, regime_names=tuple(names))


def row(world: str, n_samples: int, seed: int, value: float = -0.5) -> dict[str, object]:
    """Precision and recall of "acts on" pairs over all hidden regimes of one problem."""
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
    found = {(action.regime, action.node) for action in result.acts_on}
    true = _true_pairs(problem, train, result)
    right = len(found & true)
    return {
        "world": world,
        "n_samples": n_samples,
        "seed": seed,
        "found": len(found),
        "true": len(true),
        "right": right,
        "precision": right / max(len(found), 1),
        "recall": right / max(len(true), 1),
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


def main() -> None:
    """Prints one JSON row per problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", nargs="+", default=["planted"])
    parser.add_argument("--samples", nargs="+", type=int, default=list(SAMPLES))
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 3))
    options = parser.parse_args()
    for world in options.worlds:
        for n_samples in options.samples:
            for seed in range(*options.seeds):
                print(json.dumps(row(world, n_samples, seed)), flush=True)


if __name__ == "__main__":
    main()
