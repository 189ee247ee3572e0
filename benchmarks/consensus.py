"""Measures what a consensus costs: `python benchmarks/consensus.py --jobs 2`.

Fifty full searches on parts of the samples, of setting b 64-6 and of setting e 16-3, as users run
them (`auto` mechanisms). A row per cell goes to docs/results/7000/consensus.jsonl: wall-clock time
and CPU time of all processes; `python -m experiments.consensus_page` writes them into
docs/consensus.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from ucad.consensus.consensus import find_consensus
from ucad.consensus.fits import fit_scaled
from ucad.consensus.running import RunOptions
from ucad.simulate import paper_problem
from ucad.solvers.registry import SolveSettings

CELLS = {"b 64-6": 180.0, "e 16-3": 300.0}
"""What is measured, and the seconds that it may take on two idle cores."""

ROOT = Path(__file__).parents[1]


def measure(cell: str, seed: int, n_runs: int, n_jobs: int) -> dict[str, Any]:
    """One consensus: how long it takes, and whether it is the true graph."""
    problem = paper_problem(*cell.split(), seed=seed)
    settings = SolveSettings(n_factors=problem.factors.shape[1])
    result, scm = fit_scaled(problem.train, settings)
    where = RunOptions(n_jobs=n_jobs)
    wall, cpu = time.monotonic(), _cpu()
    found = find_consensus(result, scm, problem.train, settings, n_runs=n_runs, options=where)
    wall, cpu = time.monotonic() - wall, _cpu() - cpu
    truth = problem.scm.graph
    same = found.scm is not None and found.scm.graph.is_same_up_to_relabelling(truth)
    return {
        "cell": cell,
        "seed": seed,
        "fits": len(found.fits),
        "jobs": n_jobs,
        "wall": round(wall, 1),
        "cpu": round(cpu, 1),
        "wanted": CELLS[cell],
        "same": same,
        "commit": _commit(),
    }


def main() -> None:
    """Reads the command line and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs="+", default=list(CELLS), choices=CELLS)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=4000)
    default = ROOT / "docs" / "results" / "7000" / "consensus.jsonl"
    parser.add_argument("--rows", type=Path, default=default)
    options = parser.parse_args()
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    for cell in options.cells:
        row = json.dumps(measure(cell, options.seed, options.runs, options.jobs))
        print(row, flush=True)
        with options.rows.open("a", encoding="utf-8") as file:
            file.write(row + "\n")


def _cpu() -> float:
    """Seconds of this process and of those that it has ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _commit() -> str:
    words = ["git", "rev-parse", "--short", "HEAD"]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip()


if __name__ == "__main__":
    main()
