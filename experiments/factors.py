"""How many factors are recommended: `python -m experiments.factors --seeds 0:2 -o ROWS.jsonl`.

The paper's settings a … f at 16-3 and 64-6, screens, and data without factors: independent
variables, columns permuted one by one, random DAGs. Only the path over the number of factors is
run, with the default settings, on the training part of each problem. One JSON row is appended per
problem as it finishes, and problems already in the file are skipped.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import ucad
from experiments.running import append_row, provenance, read_rows
from ucad.data import InterventionalData
from ucad.simulate import paper_problem, world_problem

PAPER = tuple(f"{setting} {size}" for size in ("16-3", "64-6") for setting in "abcdef")
SCREENS = ("screen", "screen-random", "screen-knockdown", "screen-chain", "screen-overlap")
NONE = ("independent", "permuted b 16-3", "permuted screen", "sparse-dag", "dense-dag")
CELLS = (*PAPER, *SCREENS, *NONE)
"""All cells; those of the last line have no factors."""

GROUPS = {"paper": PAPER, "screens": SCREENS, "none": NONE}
"""Cells by the name of their group, for the command line."""

PERMUTED = "permuted "


def problem(cell: str, seed: int) -> tuple[InterventionalData, int]:
    """The data of a cell, and the true number of factors."""
    if cell.startswith(PERMUTED):
        data, _ = problem(cell.removeprefix(PERMUTED), seed)
        rng = np.random.default_rng(seed)
        x = np.stack([rng.permutation(column) for column in data.x.T], axis=1)
        return replace(data, x=x), 0
    if cell in PAPER:
        made = paper_problem(*cell.split(), seed=seed)
        return made.train, made.n_factors
    world = world_problem(cell, seed)
    return world.train, world.n_factors


def run(cell: str, seed: int) -> dict[str, Any]:
    """The path of one problem, beside the truth."""
    data, truth = problem(cell, seed)
    started = time.process_time()
    path = ucad.UCAD(random_state=seed).factor_path(data).to_json()
    seconds = time.process_time() - started
    return {"true": truth, "cpu_seconds": round(seconds, 2), **path}


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """One line per cell."""
    cells: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        cells[row["task"]["cell"]].append(row["result"])
    lines = [
        "| data | true m | problems | right m recommended | right m among at most two | "
        "recommended otherwise | CPU s, mean (largest) |",
        "|---" * 7 + "|",
    ]
    for cell in (cell for cell in CELLS if cell in cells):
        each = cells[cell]
        right = [r["n_factors"] == r["true"] for r in each]
        within = [r["true"] in r["plausible"] and len(r["plausible"]) <= 2 for r in each]
        wrong = sorted(r["n_factors"] for r, good in zip(each, right, strict=True) if not good)
        seconds = [r["cpu_seconds"] for r in each]
        shown = [
            cell,
            f"{each[0]['true']}",
            f"{len(each)}",
            f"{sum(right)}",
            f"{sum(within)}",
            ", ".join(map(str, wrong)) or "–",
            f"{np.mean(seconds):.1f} ({max(seconds):.0f})",
        ]
        lines.append("| " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _row(cell: str, seed: int, about: Mapping[str, Any], rows: Path) -> None:
    row = {"task": {"cell": cell, "seed": seed}, "result": run(cell, seed), "about": about}
    append_row(rows, row)
    print(cell, seed, row["result"]["true"], row["result"]["plausible"], flush=True)


def _left(options: argparse.Namespace, rows: Iterable[Mapping[str, Any]]) -> Iterator[Any]:
    """What has no row yet, all cells of a seed before the next seed."""
    done = {(row["task"]["cell"], row["task"]["seed"]) for row in rows}
    first, last = (int(part) for part in options.seeds.split(":"))
    asked = list(GROUPS) if options.cells is None else options.cells.split(",")
    cells = [cell for name in asked for cell in GROUPS.get(name, (name,))]
    for seed in range(first, last):
        yield from ((cell, seed) for cell in cells if (cell, seed) not in done)


def main() -> None:
    """Reads the command line, runs what has no row yet, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:2", help="first:last, the last left out")
    parser.add_argument("--cells", default=None, help=f"groups ({', '.join(GROUPS)}) or cells")
    parser.add_argument("--jobs", type=int, default=1, help="problems at a time")
    parser.add_argument("-o", "--rows", type=Path, default=Path("results/factors.jsonl"))
    options = parser.parse_args()
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    about = provenance()
    joblib.Parallel(n_jobs=options.jobs)(
        joblib.delayed(_row)(cell, seed, about, options.rows)
        for cell, seed in _left(options, read_rows(options.rows))
    )
    print(table(read_rows(options.rows)))


if __name__ == "__main__":
    main()
