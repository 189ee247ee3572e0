"""What every experiment is run with: options of the command line, a sweep, and its provenance."""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ucad.cli.progress import shown_progress
from ucad.runs import versions
from ucad.sweep import Backend, Budget, Costs, Grid, LocalProcesses, RayCluster, SweepReport
from ucad.sweep import run_sweep as _run_sweep
from ucad.sweep.grid import RECOVERY

__all__ = [
    "ROUNDS",
    "add_options",
    "append_row",
    "budget_of",
    "provenance",
    "read_rows",
    "run",
    "seeds_of",
    "write_json",
]

ROOT = Path(__file__).parents[1]

ROUNDS = (7000, 5000, 4000, 3000)
"""First seeds of the rounds of reports, the newest first. A round is run at a frozen version, on
seeds that nobody has looked at; its rows lie in a folder of that name."""


def add_options(parser: argparse.ArgumentParser, table: str) -> None:
    """Adds the options that all experiments share."""
    parser.add_argument("--graphs", type=int, default=5, help="graphs a cell")
    parser.add_argument("--first-seed", type=int, default=1000, help="of the first graph")
    parser.add_argument("--budget", type=float, default=None, help="minutes it may take")
    parser.add_argument("--on", choices=("local", "ray"), default="local")
    parser.add_argument("--workers", type=int, default=None, help="fits at a time")
    parser.add_argument("--address", default=None, help="of a Ray cluster to join")
    parser.add_argument("--samples", type=int, default=10_000, help="of a data set")
    parser.add_argument("--table", type=Path, default=Path(table), help="where rows are kept")
    parser.add_argument("-o", "--output", type=Path, default=Path("results"), help="a folder")


def seeds_of(options: argparse.Namespace) -> range:
    """The seeds of the graphs."""
    return range(options.first_seed, options.first_seed + options.graphs)


def budget_of(options: argparse.Namespace) -> Budget | None:
    """The budget, running from now."""
    return None if options.budget is None else Budget(60 * options.budget)


def run(
    tasks: Sequence[Mapping[str, Any]],
    options: argparse.Namespace,
    costs: Costs,
    budget: Budget | None,
    function: str = RECOVERY,
) -> SweepReport:
    """Runs the tasks that have no row yet, and says what failed and what was left out."""
    backend: Backend = (
        RayCluster(options.workers, address=options.address)
        if options.on == "ray"
        else LocalProcesses(options.workers)
    )
    with shown_progress() as progress:
        report = _run_sweep(
            Grid(tuple(tasks), function),
            options.table,
            backend,
            costs=costs,
            budget=budget,
            progress=progress,
        )
    print("\n".join(_account(report, options.table)))
    return report


def provenance() -> dict[str, Any]:
    """The command, the date, the versions and the commit that made a result."""
    spec = sys.modules["__main__"].__spec__
    module = "experiments" if spec is None else spec.name.removesuffix(".__main__")
    words = ["python", "-m", module, *sys.argv[1:]]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        "command": shlex.join(words),
        "date": datetime.now(UTC).date().isoformat(),
        "versions": versions(),
        "commit": commit.stdout.strip() or None,
    }


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Writes beside and moves into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")
    part.replace(path)


def _account(report: SweepReport, table: Path) -> list[str]:
    lines = [f"{len(report.rows)} fits in {table}, {report.n_new} of them new."]
    lines += [f"Failed: {row['task']}: {row['error']}" for row in report.failed]
    if report.left_out:
        names = [" ".join(str(value) for value in task.values()) for task in report.left_out]
        lines.append(f"Left out ({len(names)}): {'; '.join(names)}")
        lines.append("The same command goes on with them.")
    return lines


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines; none if there is no such file."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Adds one row to a file of JSON lines."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
