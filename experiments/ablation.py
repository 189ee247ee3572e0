"""What each move of the search is worth: `python -m experiments.ablation -o ROWS.jsonl`.

Every problem is searched with all moves, without each of them in turn, and without any; what comes
before the choice of factors is done once for all of them. Development seeds: an ablation chooses
what stays, it is no result.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.running import provenance
from ucad.metrics import ConstantFactorWarning, Correlation, compare_structure, mean_correlation
from ucad.scm.families import AFFINE, NETWORK, Family
from ucad.simulate import SETTINGS, paper_problem
from ucad.simulate.problems import Problem as Simulated
from ucad.simulate.worlds import WorldProblem, screen_problem, world_problem
from ucad.solvers.problem import Problem
from ucad.solvers.search.export import as_scm
from ucad.solvers.search.moves import moves_for
from ucad.solvers.search.search import Search

SCREENS = {
    f"screen {shape}": {"shape": shape, "n_factors": 2, "parents": 3, "children": 5}
    for shape in ("chain", "overlap")
}
"""Linear screens, searched in the class of nonlinear factors: linear problems do without moves."""

WORLDS = ("fold", "interaction")
"""Other mechanisms, with nonlinear factors."""

MOVES = tuple(move.name for move in moves_for(()))
VARIANTS = {"all moves": (), **{f"without {name}": (name,) for name in MOVES}, "no moves": MOVES}


def problem_of(cell: str, seed: int) -> tuple[Simulated | WorldProblem, tuple[Family, Family]]:
    """A problem and the class of mechanisms that it is searched in."""
    if cell in SCREENS:
        return screen_problem(seed, **SCREENS[cell]), (NETWORK, AFFINE)
    if cell in WORLDS:
        return world_problem(cell, seed), (NETWORK, AFFINE)
    letter, size = cell.split()
    linear = SETTINGS[letter].linear_factors, SETTINGS[letter].linear_variables
    F_Z, F_X = (AFFINE if one else NETWORK for one in linear)
    return paper_problem(letter, size, seed), (F_Z, F_X)


def run(cell: str, seed: int, variants: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """One search per variant, compared with the truth; all start from the same candidates."""
    problem, families = problem_of(cell, seed)
    posed = Problem.of(problem.train, problem.n_factors, families)
    truth = problem.scm.graph if isinstance(problem, Simulated) else problem.graph
    assert truth is not None
    started = time.process_time()
    prepared = Search(posed).prepare()
    shared = time.process_time() - started
    for variant in variants:
        started = time.process_time()
        known = replace(prepared.problem, shared={})
        found = Search(known, leave_out=VARIANTS[variant], prepared=prepared).run()
        seconds = shared + time.process_time() - started
        scm = as_scm(found.problem, found.model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantFactorWarning)
            learned = scm.state_map(problem.test.x).numpy()
            rdc = mean_correlation(learned, problem.factors, Correlation.RDC).mean
        edges = compare_structure((scm.graph.Q, scm.graph.R), (truth.Q, truth.R))
        score = found.model.score
        yield variant, {"rdc": rdc, "exact": edges.is_exact, "score": score, "seconds": seconds}


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
) -> Iterator[tuple[str, int, list[str]]]:
    """The variants of each problem that have no row yet."""
    names = list(cells)
    for seed in seeds:
        for cell in names:
            left = [variant for variant in VARIANTS if (cell, seed, variant) not in done]
            if left:
                yield cell, seed, left


def main() -> None:
    """Reads the command line, runs what has no row yet, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:40", help="first:last, the last left out")
    parser.add_argument(
        "--cells", nargs="+", default=["e 16-3", "f 16-3", "g 16-3", *WORLDS, *SCREENS]
    )
    parser.add_argument("-o", "--rows", type=Path, default=Path("results/ablation.jsonl"))
    options = parser.parse_args()
    first, last = (int(part) for part in options.seeds.split(":"))
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    lines = options.rows.read_text("utf-8").splitlines() if options.rows.exists() else []
    rows = [json.loads(line) for line in lines]
    done = {(row["cell"], row["seed"], row["variant"]) for row in rows}
    about = provenance()
    for cell, seed, variants in pending(options.cells, range(first, last), done):
        for variant, result in run(cell, seed, variants):
            row = {"cell": cell, "seed": seed, "variant": variant, "result": result, "about": about}
            rows.append(row)
            with options.rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
