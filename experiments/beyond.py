"""What the paper did not ask: wrong numbers of factors, missing anchors, fewer data, more noise."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.cells import Cell, costs, rows_of
from experiments.figures import draw_beyond
from experiments.running import add_options, budget_of, provenance, run, seeds_of, write_json
from experiments.tables import Table, values_of
from ucad.simulate import SETTINGS
from ucad.sweep.recovery import SOLVERS, canonical

__all__ = ["EXPERIMENTS", "Experiment", "add_command", "beyond"]

B16, B64, E16 = Cell("b", "16-3"), Cell("b", "64-6"), Cell("e", "16-3")
A64, H64 = Cell("a", "64-6"), Cell("h", "64-6")


@dataclass(frozen=True)
class Experiment:
    """One thing varied, all else as in the paper.

    Attributes:
        title: what is varied, for the axis.
        option: the option of a task that varies it.
        values: what it takes; of regimes, the share of the number of variables.
        cells: where.
        second: the figure of the right panel.
    """

    title: str
    option: str
    values: tuple[float, ...]
    cells: tuple[Cell, ...]
    second: str = "exact"

    def task_value(self, cell: Cell, value: float) -> float:
        """The value as a task has it."""
        if self.option == "n_regimes":
            return round(value * int(cell.size.split("-")[0]))
        return value

    def is_papers(self, cell: Cell, value: float) -> bool:
        """Whether this is what the paper did in this setting."""
        papers = {
            "extra_factors": 0,
            "n_unanchored": 0,
            "n_samples": 10_000,
            "n_regimes": 1,
            "noise_scale": SETTINGS[cell.setting].noise_scale,
            "min_parents": 1,
        }
        return value == papers[self.option]


EXPERIMENTS = {
    "factors": Experiment(
        "factors asked for beyond the true number",
        "extra_factors",
        (-2, -1, 0, 1, 2, 3),
        (B16, B64, E16),
        "validation_nll",
    ),
    "anchors": Experiment(
        "factors that lack an anchor", "n_unanchored", (0, 1, 2, 3), (B16, B64, E16)
    ),
    "samples": Experiment(
        "samples", "n_samples", (10_000, 3_000, 1_000, 300), (Cell("a", "16-3"), A64, B64, E16)
    ),
    "interventions": Experiment(
        "regimes per variable", "n_regimes", (1, 0.5, 0.25, 0.125, 0), (B16, B64, E16)
    ),
    "noise": Experiment("noise scale", "noise_scale", (0, 0.2, 0.4, 0.8, 1.6), (B16, B64, E16)),
    "parents": Experiment(
        "least number of parents of a factor", "min_parents", (1, 2, 3), (A64, B64, H64)
    ),
}


def add_command(commands: Any) -> None:
    """Adds `beyond` to the command line."""
    parser = commands.add_parser("beyond", help=__doc__)
    parser.add_argument("what", nargs="+", choices=(*EXPERIMENTS, "all"))
    parser.add_argument("--solver", default="search", choices=SOLVERS)
    parser.add_argument("--cells", type=int, default=None, help="only the first so many cells")
    add_options(parser, "results/beyond.jsonl")
    parser.set_defaults(run=beyond)


def beyond(options: argparse.Namespace) -> int:
    """Runs the experiments asked for, and writes a figure, a table and the rows of each."""
    names = list(EXPERIMENTS) if "all" in options.what else options.what
    every = {name: _tasks(EXPERIMENTS[name], options) for name in names}
    # A graph of every experiment before the next graph of any: a budget leaves out graphs.
    by_graph = sorted((task for tasks in every.values() for task in tasks), key=_seed)
    report = run(by_graph, options, costs(), budget_of(options))
    rows = [row for row in report.rows if row["error"] is None]
    for name in names:
        _write(name, [row for row in rows if row["task"] in every[name]], options)
    if report.interrupted:
        return 130
    return 1 if report.failed else 0


def _seed(task: Mapping[str, Any]) -> int:
    return int(task["seed"])


def _tasks(experiment: Experiment, options: argparse.Namespace) -> list[dict[str, Any]]:
    return [
        _task(experiment, cell, value, seed, options)
        for cell in experiment.cells[: options.cells]
        for value in _values(experiment, options)
        for seed in seeds_of(options)
    ]


def _values(experiment: Experiment, options: argparse.Namespace) -> list[float]:
    """The values; no more samples than there are to be."""
    if experiment.option != "n_samples":
        return list(experiment.values)
    return [value for value in experiment.values if value <= options.samples]


def _task(
    experiment: Experiment, cell: Cell, value: float, seed: int, options: argparse.Namespace
) -> dict[str, Any]:
    return canonical(
        {
            "setting": cell.setting,
            "size": cell.size,
            "seed": seed,
            "solver": options.solver,
            "metrics": "fast",
            "n_samples": options.samples,
            experiment.option: experiment.task_value(cell, value),
        }
    )


def _write(name: str, rows: Sequence[dict[str, Any]], options: argparse.Namespace) -> None:
    experiment = EXPERIMENTS[name]
    if not rows:
        print(f"Nothing of '{name}' was run.")
        return
    lines = {
        str(cell): list(_points(experiment, cell, rows, options))
        for cell in experiment.cells[: options.cells]
    }
    figure = options.output / "figures" / f"beyond-{name}.png"
    draw_beyond(lines, experiment.title, experiment.second, figure)
    table = _table(experiment, lines)
    print(table.markdown())
    about = {**provenance(), "experiment": experiment.title, "option": experiment.option}
    write_json(options.output / f"beyond-{name}.json", {**about, "rows": list(rows)})
    (options.output / f"beyond-{name}.md").write_text(
        f"`{about['command']}`, {about['date']}, ucad {about['versions']['ucad']} at commit "
        f"{about['commit']}.\n\n{table.markdown()}",
        "utf-8",
    )
    print(f"Written: {figure}, beyond-{name}.md and beyond-{name}.json in {options.output}\n")


def _points(
    experiment: Experiment,
    cell: Cell,
    rows: Sequence[dict[str, Any]],
    options: argparse.Namespace,
) -> Iterator[tuple[str, bool, list[Mapping[str, Any]]]]:
    for value in _values(experiment, options):
        wanted = [_task(experiment, cell, value, seed, options) for seed in seeds_of(options)]
        own = [row for row in rows_of(rows, cell) if row["task"] in wanted]
        yield f"{value:g}", experiment.is_papers(cell, value), own


def _table(
    experiment: Experiment,
    lines: Mapping[str, Sequence[tuple[str, bool, Sequence[Mapping[str, Any]]]]],
) -> Table:
    header = (
        "cell",
        experiment.title,
        "graphs",
        "MCC Pearson (worst)",
        "ceiling",
        "exact",
        "SHD",
        "validation NLL",
        "truth scores better",
    )
    cells = []
    for cell, points in lines.items():
        for label, is_papers, own in points:
            if not own:
                continue
            pearson, top = values_of(own, "mcc_pearson"), values_of(own, "ceiling.mcc_pearson")
            cells.append(
                (
                    cell,
                    f"**{label}** (paper)" if is_papers else label,
                    str(len(own)),
                    f"{pearson.mean():.3f} ({pearson.min():.3f})",
                    f"{top.mean():.3f}",
                    f"{int(values_of(own, 'exact').sum())}",
                    f"{values_of(own, 'shd').mean():.1f}",
                    f"{values_of(own, 'validation_nll').mean():.3f}",
                    f"{int((values_of(own, 'score_above_ceiling') < -1).sum())}",
                )
            )
    return Table(experiment.title.capitalize(), header, tuple(cells))
