"""Recovery on screens: `python -m experiments.screens --seeds 1000:1010 -o ROWS.jsonl`.

Linear worlds shaped like an experiment (`ucad.simulate.worlds.Screen`): p parents and c children
per factor, inputs set to one value, set at random, or every variable knocked down. One JSON row
is appended per fit as it finishes, and fits already in the file are skipped.

A parent's own effect counts as *detectable* if it is worth an edge in the true model: taking the
parent out of its factor costs more than the price of an edge, 2 log N nats, when the functions of
the true graph are fitted to the same samples.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.running import provenance
from ucad.metrics import Correlation, compare_structure, mean_correlation
from ucad.scm.families import AFFINE
from ucad.simulate.worlds import WorldProblem, screen_problem
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import THOROUGH, Regression, unit_variance
from ucad.solvers.search import fit_search
from ucad.solvers.search.given_graph import model_of_graph
from ucad.solvers.search.model import polish, refit

PARENTS, CHILDREN = (2, 5, 8), (4, 10, 40)
CLAMPS = {
    "constant": {"clamp": "constant"},
    "random": {"clamp": "random"},
    "knockdown": {"clamp": "knockdown", "share_targeted": 1.0},
}
N_FACTORS = {4: 3, 10: 3, 40: 3}
"""Factors of a screen, by the number of children."""

LARGE = {"n_factors": 8, "parents": 5, "children": 35, "clamp": "constant"}
"""320 variables, as in the largest screen of the issue."""


def tasks(seeds: Iterable[int], n_large: int) -> Iterator[dict[str, Any]]:
    """One task per cell and seed, all cells of a seed before the next seed."""
    seeds = list(seeds)
    for seed in seeds:
        for p in PARENTS:
            for c in CHILDREN:
                for name, clamp in CLAMPS.items():
                    cell = {"parents": p, "children": c, "n_factors": N_FACTORS[c], **clamp}
                    yield {"cell": f"{name} p={p} c={c}", "seed": seed, "settings": cell}
    for seed in seeds[:n_large]:
        yield {"cell": "constant n=320", "seed": seed, "settings": LARGE}


def run(task: Mapping[str, Any]) -> dict[str, Any]:
    """Fits one screen and compares with the truth."""
    problem = screen_problem(task["seed"], **task["settings"])
    started = time.process_time()
    fit = fit_search(problem.train, problem.n_factors, validation=problem.validation)
    seconds = time.process_time() - started
    graph, truth = fit.scm.graph, problem.graph
    assert truth is not None
    learned = fit.scm.state_map(problem.test.x).numpy()
    correlation = mean_correlation(learned, problem.factors, Correlation.PEARSON)
    A, B = np.asarray(graph.variable_adjacency), np.asarray(truth.variable_adjacency)
    return {
        "n_variables": problem.train.n_variables,
        "n_samples": problem.train.n_samples,
        "mcc": correlation.mean,
        "exact": compare_structure((graph.Q, graph.R), (truth.Q, truth.R)).is_exact,
        "wrong": int((A & ~B).sum()),
        "missing": int((B & ~A).sum()),
        "reversed": int((A & B.T & ~B).sum()),
        "open": len(fit.status.open_directions),
        "detectable": _all_detectable(problem),
        "seconds": seconds,
    }


def _all_detectable(problem: WorldProblem) -> bool:
    """Whether every parent's own effect is worth an edge in the true model."""
    assert problem.graph is not None
    one = Problem.of(problem.train, problem.n_factors, (AFFINE, AFFINE))
    x = problem.train.x
    model = polish(one, model_of_graph(one, problem.graph.Q, problem.graph.R), THOROUGH, 4)
    fitter = one.fitter(AFFINE, THOROUGH)
    for k, factor in enumerate(model.factors):
        own = Regression(factor.values(x), np.ones(len(x)))
        for at in range(len(factor.parents)):
            fitted = fitter.fit(x, np.delete(factor.parents, at), own)
            without = model.with_factor(k, unit_variance(fitted, x), x)
            if refit(one, without, np.flatnonzero(model.R[:, k]), THOROUGH).score > model.score:
                return False
    return True


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """One line per cell."""
    cells: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        cells[row["task"]["cell"]].append(row["result"])
    lines = [
        "| screen | n | N | fits | detectable | MCC of those, mean (lowest) | reversed edges of "
        "those | exact | MCC of the others, lowest | reversed of the others (open) | CPU s, mean "
        "(largest) |",
        "|---" * 11 + "|",
    ]
    for cell, each in cells.items():
        good = [r for r in each if r["detectable"]]
        rest = [r for r in each if not r["detectable"]]
        seconds = [r["seconds"] for r in each]
        shown = [
            cell,
            f"{each[0]['n_variables']}",
            f"{each[0]['n_samples']}",
            f"{len(each)}",
            f"{len(good)}",
            f"{np.mean([r['mcc'] for r in good]):.4f} ({min(r['mcc'] for r in good):.3f})"
            if good
            else "–",
            f"{sum(r['reversed'] for r in good)}" if good else "–",
            f"{sum(r['exact'] for r in each)} of {len(each)}",
            f"{min(r['mcc'] for r in rest):.3f}" if rest else "–",
            f"{sum(r['reversed'] for r in rest)} ({sum(r['open'] for r in rest)})" if rest else "–",
            f"{np.mean(seconds):.1f} ({max(seconds):.1f})",
        ]
        lines.append("| " + " | ".join(shown) + " |")
    return "\n".join(lines)


def main() -> None:
    """Reads the command line, runs what has no row yet, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:2", help="first:last, the last left out")
    parser.add_argument("--large", type=int, default=3, help="fits with 320 variables")
    parser.add_argument("-o", "--rows", type=Path, default=Path("results/screens.jsonl"))
    options = parser.parse_args()
    first, last = (int(part) for part in options.seeds.split(":"))
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    lines = options.rows.read_text("utf-8").splitlines() if options.rows.exists() else []
    rows = [json.loads(line) for line in lines]
    done = {(row["task"]["cell"], row["task"]["seed"]) for row in rows}
    about = provenance()
    for task in tasks(range(first, last), options.large):
        if (task["cell"], task["seed"]) in done:
            continue
        row = {"task": task, "result": run(task), "about": about}
        rows.append(row)
        with options.rows.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        print(task["cell"], task["seed"], row["result"], flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
