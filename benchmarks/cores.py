"""Prints what a second core gives: `python -m benchmarks.cores`.

The same resampled fits are made one at a time and two at a time. A row holds the ratio of seconds
by the clock, which says what the second core gives if no other work takes it, that of CPU seconds,
which says what dividing the work costs, and the load of the machine before and after.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.scale import commit
from ucad.consensus.resampling import plan
from ucad.consensus.running import Fits, RunOptions, run_fits
from ucad.simulate import Problem, paper_problem
from ucad.solvers.registry import SolveSettings, one_thread

ROWS = Path(__file__).parents[1] / "docs" / "results" / "7000" / "cores.jsonl"
CELLS = {"linear": ("b", "64-6", "linear"), "networks": ("e", "16-3", "mlp")}
"""Setting, size and F_Z of each; F_X is linear."""


class Cost(NamedTuple):
    """What some fits took, all processes together."""

    wall: float
    cpu: float


def cpu_seconds() -> float:
    """Of this process and of those that it has ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def timed(problem: Problem, F_Z: str, n_runs: int, n_jobs: int) -> tuple[Fits, Cost]:
    """Resampled fits, so many at a time."""
    settings = SolveSettings(
        n_factors=problem.n_factors, factor_mechanism=F_Z, variable_mechanism="linear"
    )
    draws = plan(n_runs, problem.train.regime, 0)
    wall, cpu = time.monotonic(), cpu_seconds()
    with one_thread():
        fits = run_fits(problem.train, settings, draws, RunOptions(n_jobs=n_jobs))
    return fits, Cost(time.monotonic() - wall, cpu_seconds() - cpu)


def are_equal(problem: Problem, first: Fits, second: Fits) -> bool:
    """Whether the factors of all fits are the same numbers."""
    states = [
        np.concatenate([fit.scm.state_map(problem.test.x).numpy() for fit in fits.done], axis=1)
        for fits in (first, second)
    ]
    return bool(np.array_equal(*states))


def measure(cell: str, seed: int, n_runs: int) -> dict[str, object]:
    """The row of one cell."""
    setting, size, F_Z = CELLS[cell]
    problem = paper_problem(setting, size, seed=seed)
    before = os.getloadavg()[0]
    first, alone = timed(problem, F_Z, n_runs, 1)
    between = os.getloadavg()[0]
    second, both = timed(problem, F_Z, n_runs, 2)
    return {
        "cell": cell,
        "seed": seed,
        "fits": n_runs,
        "wall_seconds": round(alone.wall, 1),
        "wall_ratio": round(alone.wall / both.wall, 2),
        "cpu_seconds": round(alone.cpu, 1),
        "cpu_ratio": round(both.cpu / alone.cpu, 2),
        "load_before": round(before, 1),
        "load_between": round(between, 1),
        "cores": os.cpu_count(),
        "same": are_equal(problem, first, second),
        "commit": commit(),
    }


def main() -> None:
    """Reads the command line and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs="+", default=list(CELLS), choices=CELLS)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--seed", type=int, default=7000)
    parser.add_argument("--rows", type=Path, default=ROWS)
    options = parser.parse_args()
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    for cell in options.cells:
        row = json.dumps(measure(cell, options.seed, options.runs))
        print(row, flush=True)
        with options.rows.open("a") as file:
            file.write(row + "\n")


if __name__ == "__main__":
    main()
