"""Prints what a consensus costs: `python benchmarks/consensus.py --jobs 2`.

Fifty full searches on parts of the samples, of setting b 64-6 and of setting e 16-3, as users run
them (`auto` mechanisms); wall-clock time and CPU time of all processes.
"""

from __future__ import annotations

import argparse
import os
import time

from ucad.consensus.consensus import find_consensus
from ucad.consensus.fits import fit_scaled
from ucad.consensus.running import RunOptions
from ucad.simulate import paper_problem
from ucad.solvers.registry import SolveSettings

CELLS = {"b 64-6": 180.0, "e 16-3": 300.0}
"""What is measured, and the seconds that it may take on two idle cores."""


def main() -> None:
    """Reads the command line and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs="+", default=list(CELLS), choices=CELLS)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("| cell | fits | wall-clock s | CPU s | target s | same graph as the truth |")
    print("|---|---|---|---|---|---|")
    for cell in options.cells:
        setting, size = cell.split()
        problem = paper_problem(setting, size, seed=options.seed)
        settings = SolveSettings(n_factors=problem.factors.shape[1])
        result, scm = fit_scaled(problem.train, settings)
        where = RunOptions(n_jobs=options.jobs)
        wall, cpu = time.monotonic(), _cpu()
        found = find_consensus(
            result, scm, problem.train, settings, n_runs=options.runs, options=where
        )
        wall, cpu = time.monotonic() - wall, _cpu() - cpu
        same = found.scm is not None and found.scm.graph.is_same_up_to_relabelling(
            problem.scm.graph
        )
        print(
            f"| {cell} | {len(found.fits)} | {wall:.0f} | {cpu:.0f} | {CELLS[cell]:.0f} | {same} |"
        )


def _cpu() -> float:
    """Seconds of this process and of those that it has ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


if __name__ == "__main__":
    main()
