"""Whether support means what it says: `python -m experiments.calibration --graphs 10 --workers 2`.

In worlds in which things go wrong, a consensus is made and every edge's support is held against the
truth: are edges with support of at least 0.9 right at least 90 % of the time where the model passed
its tests, and are there no more false ones than the error control says? One row per world and seed
is appended as it finishes; the table and the reliability diagrams are made from all rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.running import add_options, budget_of, provenance, run, seeds_of
from ucad.consensus.consensus import together
from ucad.consensus.error_control import wilson
from ucad.consensus.matching import level_for, match
from ucad.consensus.support import STABLE, Graph, Support
from ucad.simulate import Problem, paper_problem
from ucad.simulate.worlds import WorldProblem, world_problem
from ucad.sweep import Costs

__all__ = ["WORLDS", "judge", "main", "table"]

FUNCTION = "experiments.calibration:judge"

WORLDS: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing wrong": ("planted", {}),
    "few samples": ("few-samples", {}),
    "1,000 samples": ("planted", {"n_samples": 1000}),
    "weak factors": ("planted", {"signal": (0.05, 0.3)}),
    "weak factors, 2,000 samples": ("planted", {"signal": (0.05, 0.3), "n_samples": 2000}),
    "counts, half of them zero": ("counts-50", {}),
    "counts, 90 % zero": ("counts-90", {}),
    "rates, read by counts half of which are zero": ("rates-50", {}),
    "rates, read by counts 90 % of which are zero": ("rates-90", {}),
    "raw counts": ("raw-counts", {}),
    "a factor too few": ("factor-too-few", {}),
    "a factor too many": ("factor-too-many", {}),
    "direct edges": ("direct-edges", {}),
    "hidden cause": ("hidden-cause", {}),
    "correlated roots": ("correlated-roots", {}),
    "read noise": ("read-noise", {}),
    "noisy clamps": ("noisy-clamps", {}),
    "screen": ("screen-overlap", {}),
    "no anchors": ("unanchored", {}),
    "no factors": ("sparse-dag", {}),
    "setting b": ("b 16-3", {}),
    "setting e": ("e 16-3", {}),
}
"""What may go wrong, by name: the world and what is changed in it."""

BINS = (0.0, 0.3, 0.5, 0.7, STABLE, 1.0)
"""Edges of the bins of support; the last one, from 0.9 on, is what is claimed."""


def judge(task: Mapping[str, Any]) -> dict[str, Any]:
    """One consensus, every edge beside the truth."""
    from ucad.estimator import UCAD

    warnings.simplefilter("ignore")
    started = time.process_time()
    problem = _problem(str(task["world"]), int(task["seed"]))
    asked = getattr(problem, "asked_factors", None) or problem.factors.shape[1]
    model = UCAD(asked, n_runs=int(task["n_runs"])).fit(together(problem.train, problem.validation))
    support = model.support_
    if support is None:
        return {"error": model.consensus_.note if model.consensus_ else "no consensus"}
    A = problem.adjacency if isinstance(problem, WorldProblem) else _graph_of(problem, Graph.A)
    closed = [edge for edge in support.of(Graph.A) if not edge.hangs]
    pairs = {"A": [(edge.support, _is_in(A, problem, edge)) for edge in closed]}
    pairs |= _factor_edges(problem, model, support)
    control = support.control[Graph.A]
    return {
        "adequacy": support.adequacy.value,
        "passed": support.may_be_claimed,
        "n_halves": support.n_halves,
        "edges": {name: _counted(found) for name, found in pairs.items()},
        "expected_false": control.expected_false,
        "expected_false_unimodal": control.expected_false_unimodal,
        "false_above": sum(s >= STABLE and not right for s, right in pairs["A"]),
        "hanging": sum(edge.hangs and edge.support >= STABLE for edge in support.of(Graph.A)),
        "stabilities": [one.stability for one in support.factors],
        "about": {
            "first_fit_seconds": round(model.fit_seconds_, 3),
            "cpu_seconds": round(time.process_time() - started, 1),
            "commit": provenance()["commit"],
        },
    }


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line per world: how often stable edges are right, and how many false ones there are."""
    lines = [
        "| world | consensuses | passed | stable edges right, passed | stable edges right, all "
        "| edges of support < 0.9 right | false stable edges per consensus (bound), passed | all |",
        "|---" * 8 + "|",
    ]
    names = [name for name in WORLDS if any(row["task"]["world"] == name for row in rows)]
    for name in names:
        own = [row["result"] for row in rows if row["task"]["world"] == name]
        lines.append(_line(name, [one for one in own if one and "error" not in one]))
    every = [row["result"] for row in rows if row["result"] and "error" not in row["result"]]
    return "\n".join([*lines, _line("**all**", every)])


def main(words: Sequence[str] | None = None) -> None:
    """Reads the command line, runs what is missing, and writes table and figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, "docs/results/calibration.jsonl")
    parser.add_argument(
        "--worlds", nargs="+", default=list(WORLDS), choices=WORLDS, metavar="WORLD"
    )
    parser.add_argument("--runs", type=int, default=50, help="fits of a consensus")
    parser.add_argument("--figure", type=Path, default=Path("docs/figures/calibration.svg"))
    options = parser.parse_args(words)
    tasks = [
        {"world": world, "seed": seed, "n_runs": options.runs}
        for seed in seeds_of(options)
        for world in options.worlds
    ]
    report = run(tasks, options, Costs(guess=lambda _task: 40.0), budget_of(options), FUNCTION)
    done = [row for row in report.rows if row["error"] is None]
    print(table(done))
    if done:
        from experiments.figures import draw_calibration

        options.figure.parent.mkdir(parents=True, exist_ok=True)
        draw_calibration(done, list(WORLDS), BINS, options.figure)


def shares(
    results: Sequence[Mapping[str, Any]], which: str, low: float, high: float
) -> tuple[int, int]:
    """Right edges and all edges with support in [low, high), or up to 1 at the end."""
    right = total = 0
    for one in results:
        for support, n, n_right in one["edges"].get(which, ()):
            if low <= support < high or (high >= 1 and support >= low):
                total, right = total + n, right + n_right
    return right, total


def _line(name: str, results: Sequence[Mapping[str, Any]]) -> str:
    passed = [one for one in results if one["passed"]]
    cells = [
        name,
        len(results),
        len(passed),
        _share(*shares(passed, "A", STABLE, 1.0)),
        _share(*shares(results, "A", STABLE, 1.0)),
        _share(*shares(results, "A", 0.0, STABLE)),
        _false(passed),
        _false(results),
    ]
    return f"| {' | '.join(map(str, cells))} |"


def _false(results: Sequence[Mapping[str, Any]]) -> str:
    """False stable edges per consensus, and how many the error control allows for."""
    if not results:
        return "–"
    false, bound = (
        sum(one[name] for one in results) / len(results)
        for name in ("false_above", "expected_false")
    )
    return f"{false:.2f} ({bound:.2f})"


def _share(right: int, total: int) -> str:
    if not total:
        return "–"
    low, high = wilson(right, total)
    return f"{right / total:.3f} ({right}/{total}; {low:.2f}–{high:.2f})"


def _problem(world: str, seed: int) -> WorldProblem | Problem:
    name, changes = WORLDS[world]
    setting, _, size = name.partition(" ")
    if size:
        return paper_problem(setting, size, seed=seed)
    return world_problem(name, seed, **changes)


def _graph_of(problem: WorldProblem | Problem, which: Graph) -> np.ndarray:
    graph = problem.graph if isinstance(problem, WorldProblem) else problem.scm.graph
    assert graph is not None
    edges = {"Q": graph.Q, "R": graph.R, "A": graph.variable_adjacency}
    return np.asarray(edges[which.value])


def _is_in(A: np.ndarray, problem: WorldProblem | Problem, edge: Any) -> bool:
    names = problem.train.variable_names
    return bool(A[names.index(edge.cause), names.index(edge.effect)])


def _factor_edges(
    problem: WorldProblem | Problem, model: Any, support: Support
) -> dict[str, list[tuple[float, bool]]]:
    """Edges of Q and R; those of a factor that is none of the true ones are wrong."""
    if isinstance(problem, WorldProblem) and problem.graph is None:
        return {}
    z, true = model.transform(problem.test.x), problem.factors
    found = match(z, true, level_for(len(z), z.shape[1], true.shape[1]))
    names = problem.train.variable_names
    partner = dict(zip(model.graph_.factor_names, found.partner, strict=True))
    pairs: dict[str, list[tuple[float, bool]]] = {}
    for which in (Graph.Q, Graph.R):
        truth = _graph_of(problem, which)
        pairs[which.value] = [
            (edge.support, at is not None and bool(truth[names.index(variable), at]))
            for edge in support.of(which)
            if not edge.hangs
            for variable, factor in [
                (edge.cause, edge.effect) if which is Graph.Q else (edge.effect, edge.cause)
            ]
            if factor in partner
            for at in [partner[factor]]
        ]
    return pairs


def _counted(pairs: Sequence[tuple[float, bool]]) -> list[list[float]]:
    """[support, edges, right edges] for every value of the support."""
    values = sorted({support for support, _ in pairs})
    return [
        [value, sum(s == value for s, _ in pairs), sum(r for s, r in pairs if s == value)]
        for value in values
    ]


if __name__ == "__main__":
    main()
