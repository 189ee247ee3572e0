"""How well the search recovers the truth: `python -m experiments.recovery --settings a b`.

The quick part of `python -m experiments reproduce`, by the same code: R² and DCI only if asked for,
and any setting at any size. One JSON row is appended per graph as it finishes, and graphs already
in the file are skipped. The table has our figures next to the paper's and next to the ceiling, the
same refinement started from the true graph.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.cells import Cell, costs, paper_results, tasks_of
from experiments.running import run
from experiments.tables import summary_table
from ucad.simulate import SETTINGS


def main() -> None:
    """Reads the command line, runs, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", nargs="+", default=list("abcdefg"), choices=SETTINGS)
    parser.add_argument("--sizes", nargs="+", default=["16-3", "64-6"])
    parser.add_argument("--seeds", default="1000:1010", help="first:last, the last left out")
    parser.add_argument("--cells", nargs="+", default=None, help='instead of both: "a 16-3" …')
    parser.add_argument("--solver", default="search")
    parser.add_argument("--mechanisms", default="true", help="true: told the class; auto")
    parser.add_argument("--no-ceiling", action="store_true", help="do not fit the true graph")
    parser.add_argument("--all-metrics", action="store_true", help="R² and DCI as well")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("-o", "--table", type=Path, default=Path("results/recovery.jsonl"))
    options = parser.parse_args(namespace=argparse.Namespace(on="local", address=None))
    first, last = (int(part) for part in options.seeds.split(":"))
    cells = [Cell(setting, size) for setting in options.settings for size in options.sizes]
    if options.cells is not None:
        cells = [Cell(*cell.split()) for cell in options.cells]
    tasks = tasks_of(
        cells,
        [options.solver],
        range(first, last),
        metrics="all" if options.all_metrics else "fast",
        mechanisms=options.mechanisms,
        ceiling=not options.no_ceiling,
    )
    report = run(tasks, options, costs(), None)
    rows = [row for row in report.rows if row["error"] is None]
    print(summary_table(rows, paper_results()).markdown())


if __name__ == "__main__":
    main()
