"""Worlds measured as real data are: `python -m experiments.real_measurements --seeds 0:2 -o ROWS`.

Duplicated columns, batches with their context, interventions that are no clamps with
their kind told and not told, counts, and values not yet logged. Each is fitted with the defaults,
the number of factors given. One JSON row is appended per problem; those in the file are skipped.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import ucad
from experiments.running import append_row, provenance, read_rows
from ucad.metrics import Correlation, mean_correlation
from ucad.simulate.worlds import WorldProblem, world_problem

__all__ = ["CELLS", "main", "table"]

Prepare = Callable[[WorldProblem], tuple[Any, Any, dict[str, Any]]]
"""Makes training data, test data and settings of a problem."""


def _as_it_is(problem: WorldProblem) -> tuple[Any, Any, dict[str, Any]]:
    return problem.train, problem.test, {}


def _in_context(problem: WorldProblem) -> tuple[Any, Any, dict[str, Any]]:
    known = problem.in_context()
    return known.train, known.test, {}


def _told(kind: str) -> Prepare:
    return lambda problem: (problem.train.with_kinds(kind), problem.test, {})


def _as_counts(problem: WorldProblem) -> tuple[Any, Any, dict[str, Any]]:
    return problem.train, problem.test, {"measurement": "counts", "noise": "gaussian"}


CELLS: dict[str, tuple[str, Prepare]] = {
    "duplicates": ("duplicates", _as_it_is),
    "batches, as context": ("batches", _in_context),
    "known-context, as context": ("known-context", _in_context),
    "shift, kind told": ("shift", _told("shift")),
    "shift, auto": ("shift", _as_it_is),
    "knockdown, kind told": ("knockdown", _told("soft")),
    "knockdown, auto": ("knockdown", _as_it_is),
    "exponential": ("exponential", _as_it_is),
    "counts-50": ("counts-50", _as_it_is),
    "counts-90": ("counts-90", _as_it_is),
    "cut-off-90": ("cut-off-90", _as_it_is),
    "rates-50, as counts": ("rates-50", _as_counts),
    "rates-90, as counts": ("rates-90", _as_counts),
}
"""World and preparation by the name of the cell."""


def run(cell: str, seed: int) -> dict[str, Any]:
    """One fit: factors against the truth, reversed edges, and what was claimed."""
    world, prepare = CELLS[cell]
    problem = world_problem(world, seed)
    train, test, settings = prepare(problem)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ucad.UCAD(n_factors=problem.asked_factors, random_state=seed, **settings).fit(train)
        z = model.transform(test)
    seconds = time.process_time() - started
    matched = mean_correlation(z, problem.factors, Correlation.PEARSON)
    found, true = (np.asarray(g.variable_adjacency) for g in (model.graph_, problem.graph))
    is_same = found.shape == true.shape
    return {
        "mcc": matched.mean,
        "wrong_edges": int((found & ~true).sum()) if is_same else None,
        "reversed_edges": int((found & true.T & ~true).sum()) if is_same else None,
        "graph_claimed": str(model.certificate_.may_claim("graph").answer.value),
        "cpu_seconds": round(seconds, 2),
    }


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """One line per cell."""
    cells: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        cells[row["task"]["cell"]].append(row["result"])
    lines = [
        "| world | fits | MCC, mean (lowest) | wrong edges, reversed edges | graph claimed: yes, "
        "partly, no, not known | claimed with a wrong edge | CPU s |",
        "|---" * 7 + "|",
    ]
    for cell in (cell for cell in CELLS if cell in cells):
        each = cells[cell]
        mcc = [r["mcc"] for r in each]
        known = [r for r in each if r["wrong_edges"] is not None]
        wrong, turned = (sum(r[k] for r in known) for k in ("wrong_edges", "reversed_edges"))
        answers = [r["graph_claimed"] for r in each]
        over = sum(r["graph_claimed"] == "yes" and r["wrong_edges"] > 0 for r in known)
        lines.append(
            f"| {cell} | {len(each)} | {np.mean(mcc):.3f} ({min(mcc):.3f}) "
            f"| {f'{wrong}, {turned}' if known else '–'} "
            f"| {', '.join(str(answers.count(a)) for a in ('yes', 'partly', 'no', 'not known'))} "
            f"| {over if known else '–'} | {np.mean([r['cpu_seconds'] for r in each]):.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Reads the command line, runs what has no row yet, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:2", help="first:last, the last left out")
    parser.add_argument("-o", "--rows", type=Path, default=Path("results/real_measurements.jsonl"))
    parser.add_argument("--cells", nargs="+", choices=tuple(CELLS), default=list(CELLS))
    options = parser.parse_args()
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    about, done = provenance(), {tuple(row["task"].values()) for row in read_rows(options.rows)}
    first, last = (int(part) for part in options.seeds.split(":"))
    for seed in range(first, last):
        for cell in (cell for cell in options.cells if (cell, seed) not in done):
            row = {"task": {"cell": cell, "seed": seed}, "result": run(cell, seed), "about": about}
            append_row(options.rows, row)
            print(cell, seed, row["result"], flush=True)
    print(table(read_rows(options.rows)))


if __name__ == "__main__":
    main()
