"""The paper's synthetic tables, ours beside the paper's: `python -m experiments reproduce all`."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.cells import CELLS, ROTATED, Cell, costs, paper_results, tasks_of
from experiments.figures import draw_reproduction
from experiments.running import add_options, budget_of, provenance, run, seeds_of, write_json
from experiments.tables import (
    METRICS,
    Table,
    rotated_table,
    setting_tables,
    summary_table,
    values_of,
)
from ucad.simulate import SETTINGS
from ucad.sweep import Budget, SweepReport
from ucad.sweep.recovery import SOLVERS

__all__ = ["add_command", "reproduce"]

WHAT = (*SETTINGS, "rotated", "div6", "all")
PREAMBLE = (
    "Mean ± standard deviation (n − 1) over graphs. *Paper*: its learner, the feasible run with "
    "the lowest validation NLL of 60 to 80 a graph, over five graphs. Ours are tested as the "
    "paper's: on 2,000 held-out observational samples; i on 12 unseen regimes, after training on "
    "46 and validating on 6; h trained without interventions. *True graph*: the search's "
    "refinement started from it, the ceiling. DAG violation is h − 1e-6, so that a DAG has −1e-6. "
    "A true factor without a learned partner counts 0 in MCC. Seconds are CPU time "
    "of the fit alone, on one thread."
)


def add_command(commands: Any) -> None:
    """Adds `reproduce` to the command line."""
    parser = commands.add_parser("reproduce", help=__doc__)
    parser.add_argument("what", nargs="+", choices=WHAT)
    parser.add_argument("--solver", nargs="+", default=["search"], choices=SOLVERS)
    parser.add_argument("--sizes", nargs="+", default=["16-3", "64-6", "128-8"])
    add_options(parser, "results/reproduce.jsonl")
    parser.set_defaults(run=reproduce)


def reproduce(options: argparse.Namespace) -> int:
    """Runs what was asked for, as far as the budget goes, and writes the tables."""
    budget = budget_of(options)
    cells = _cells(options)
    code = 0
    if cells:
        chosen = {} if options.samples == 10_000 else {"n_samples": options.samples}
        tasks = tasks_of(cells, options.solver, seeds_of(options), **chosen)
        report = run(tasks, options, costs(), budget)
        write(report, options)
        if report.interrupted:
            return 130
        code = 1 if report.failed else 0
    if {"div6", "all"} & set(options.what):
        code = max(code, _div6(budget, asked_for="div6" in options.what))
    return code


def write(report: SweepReport, options: argparse.Namespace) -> None:
    """Writes Markdown, LaTeX, JSON and the figure, and prints the first."""
    paper, rows = paper_results(), [row for row in report.rows if row["error"] is None]
    if not rows:
        print("There is nothing to tabulate.")
        return
    tables = list(_tables(rows, paper, options))
    about = provenance()
    trees = next((r["result"]["dci_trees"] for r in rows if "dci_trees" in r["result"]), "none")
    source = (
        f"`{about['command']}`, {about['date']}, ucad {about['versions']['ucad']} at commit "
        f"{about['commit']}. DCI by {trees}."
    )
    missing = Counter(f"{task['setting']} {task['size']}" for task in report.left_out)
    graphs = ", ".join(f"{n} of {cell}" for cell, n in missing.items())
    left_out = f"Left out, for want of time: {graphs}." if missing else ""
    parts = [source, PREAMBLE, left_out, *(table.markdown() for table in tables)]
    text = "\n\n".join(part for part in parts if part)
    folder = options.output
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reproduce.md").write_text(f"# The paper's tables\n\n{text}", "utf-8")
    (folder / "reproduce.tex").write_text("\n".join(table.latex() for table in tables), "utf-8")
    content = {**about, "cells": list(_figures(rows)), "rows": rows, "failed": report.failed}
    write_json(folder / "reproduce.json", {**content, "left_out": report.left_out})
    figure = folder / "figures" / "reproduce.png"
    draw_reproduction(rows, paper, figure)
    print(text)
    print(f"Written to {folder}: reproduce.md, reproduce.tex, reproduce.json, {figure}")


def _cells(options: argparse.Namespace) -> list[Cell]:
    wanted = set(options.what)
    rotated = "rotated" in wanted
    return [
        cell
        for cell in CELLS
        if ("all" in wanted or cell.setting in wanted or (rotated and cell in ROTATED))
        and cell.size in options.sizes
    ]


def _tables(
    rows: list[dict[str, Any]], paper: Mapping[str, Any], options: argparse.Namespace
) -> Iterator[Table]:
    yield summary_table(rows, paper)
    yield from setting_tables(rows, paper)
    if {"rotated", "all"} & set(options.what):
        yield rotated_table(rows, paper)


def _figures(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Mean and standard deviation of every metric of every cell and solver, for the JSON."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        task = row["task"]
        key = (task["setting"], task["size"], task.get("solver", "search"))
        groups.setdefault(key, []).append(row)
    for (setting, size, solver), own in groups.items():
        names = [*METRICS, "exact", "shd", "seconds", "ceiling.mcc_pearson", "ceiling.mcc_rdc"]
        values = {name: values_of(own, name) for name in names}
        figures = {
            name: [float(v.mean()), float(v.std(ddof=1)) if len(v) > 1 else 0.0]
            for name, v in values.items()
            if len(v)
        }
        yield {"setting": setting, "size": size, "solver": solver, "graphs": len(own), **figures}


def _div6(budget: Budget | None, *, asked_for: bool) -> int:
    """Runs `experiments.div6`, if there is one, in what is left of the budget."""
    if importlib.util.find_spec("experiments.div6") is None:
        print("There is no experiments.div6 yet: the table of the div6 networks is left out.")
        return 2 if asked_for else 0
    left = None if budget is None else budget.left
    if left is not None and left <= 0:
        print("The budget is spent: the table of the div6 networks is left out.")
        return 0
    command = [sys.executable, "-m", "experiments.div6"]
    try:
        return subprocess.run(command, check=False, timeout=left).returncode
    except subprocess.TimeoutExpired:
        print("The budget is spent: experiments.div6 was stopped.")
        return 1
