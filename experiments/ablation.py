"""What each move of the search is worth: `python -m experiments.ablation -o ROWS.jsonl`.

Every problem is searched with all moves, without each of them in turn, and without any. Development
seeds: an ablation chooses what stays, it is no result.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.running import provenance
from ucad.metrics import ConstantFactorWarning, Correlation, compare_structure, mean_correlation
from ucad.scm.families import AFFINE, NETWORK, Family
from ucad.simulate import SETTINGS, paper_problem
from ucad.simulate.problems import Problem as Simulated
from ucad.simulate.worlds import WorldProblem, screen_problem
from ucad.solvers.problem import Problem
from ucad.solvers.search.export import as_scm
from ucad.solvers.search.moves import moves_for
from ucad.solvers.search.search import Search

SCREENS = {
    "screen chain": {"shape": "chain", "n_factors": 3, "parents": 5, "children": 10},
    "screen overlap": {"shape": "overlap", "n_factors": 3, "parents": 5, "children": 10},
}
MOVES = tuple(move.name for move in moves_for(()))
VARIANTS = {"all moves": (), **{f"without {name}": (name,) for name in MOVES}, "no moves": MOVES}


def problem_of(cell: str, seed: int) -> tuple[Simulated | WorldProblem, tuple[Family, Family]]:
    """A problem and the class of its mechanisms."""
    if cell in SCREENS:
        return screen_problem(seed, **SCREENS[cell]), (AFFINE, AFFINE)
    letter, size = cell.split()
    linear = SETTINGS[letter].linear_factors, SETTINGS[letter].linear_variables
    F_Z, F_X = (AFFINE if one else NETWORK for one in linear)
    return paper_problem(letter, size, seed), (F_Z, F_X)


def run(cell: str, seed: int, variant: str) -> dict[str, Any]:
    """One search, compared with the truth."""
    problem, families = problem_of(cell, seed)
    started = time.process_time()
    posed = Problem.of(problem.train, problem.n_factors, families)
    found = Search(posed, leave_out=VARIANTS[variant]).run()
    seconds = time.process_time() - started
    scm = as_scm(found.problem, found.model)
    assert problem.scm is not None
    truth = problem.scm.graph
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantFactorWarning)
        learned = scm.state_map(problem.test.x).numpy()
        rdc = mean_correlation(learned, problem.factors, Correlation.RDC).mean
    edges = compare_structure((scm.graph.Q, scm.graph.R), (truth.Q, truth.R))
    return {
        "rdc": rdc,
        "exact": edges.is_exact,
        "score": found.model.score,
        "seconds": seconds,
    }


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """One line per cell and variant, compared graph by graph with all moves."""
    cells: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for row in rows:
        cells[row["cell"], row["variant"]][row["seed"]] = row["result"]
    lines = [
        "| cell | variant | graphs | MCC (RDC) | exact | score below all moves: graphs, nats | "
        "CPU s |",
        "|---" * 7 + "|",
    ]
    for (cell, variant), each in cells.items():
        full = cells[cell, "all moves"]
        lost = [full[s]["score"] - r["score"] for s, r in each.items() if s in full]
        worse = [nats for nats in lost if nats > 1]
        lines.append(
            f"| {cell} | {variant} | {len(each)} | {np.mean([r['rdc'] for r in each.values()]):.4f}"
            f" | {sum(r['exact'] for r in each.values())} | {len(worse)}, {sum(worse):.0f}"
            f" | {np.mean([r['seconds'] for r in each.values()]):.1f} |"
        )
    return "\n".join(lines)


def pending(
    cells: Iterable[str], seeds: range, done: set[tuple[str, int, str]]
) -> Iterator[tuple[str, int, str]]:
    """What has no row yet, all variants of a problem after each other."""
    names = list(cells)
    for seed in seeds:
        for cell in names:
            yield from (
                (cell, seed, variant) for variant in VARIANTS if (cell, seed, variant) not in done
            )


def main() -> None:
    """Reads the command line, runs what has no row yet, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:40", help="first:last, the last left out")
    parser.add_argument(
        "--cells", nargs="+", default=["d 16-3", "e 16-3", "f 16-3", "g 16-3", *SCREENS]
    )
    parser.add_argument("-o", "--rows", type=Path, default=Path("results/ablation.jsonl"))
    options = parser.parse_args()
    first, last = (int(part) for part in options.seeds.split(":"))
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    lines = options.rows.read_text("utf-8").splitlines() if options.rows.exists() else []
    rows = [json.loads(line) for line in lines]
    done = {(row["cell"], row["seed"], row["variant"]) for row in rows}
    about = provenance()
    for cell, seed, variant in pending(options.cells, range(first, last), done):
        result = run(cell, seed, variant)
        row = {"cell": cell, "seed": seed, "variant": variant, "result": result, "about": about}
        rows.append(row)
        with options.rows.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
