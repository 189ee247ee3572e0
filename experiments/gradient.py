"""The paper's learner on the paper's settings: one row per graph, and a table beside the paper's.

python -m experiments.gradient --settings a b --seeds 0:2
python -m experiments.gradient --preset paper --rates 1e-3 2e-3 --epochs 2500 --seeds 4000
python -m experiments.gradient --table docs/results/4000/recovery-paper.jsonl

Rows have the form of `experiments.recovery`; graphs that the file has are skipped.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from experiments.cells import Cell, paper_results, rows_of
from experiments.running import append_row, provenance, read_rows
from experiments.tables import METRICS, plus_minus, values_of
from ucad._types import ProgressEvent
from ucad.scm.families import AFFINE, NETWORK
from ucad.simulate import SETTINGS, paper_problem
from ucad.solvers.gradient import GradientConfig, ModelSettings, fit_gradient, preset
from ucad.sweep.recovery import MetricSet, compared_with_truth

__all__ = ["chosen_settings", "main", "mechanisms_of", "table"]

Row = Mapping[str, Any]
SOLVERS = {"fast": "gradient", "paper": "gradient-paper"}
"""What the command line of ucad calls the presets."""


def main() -> None:
    """Runs every setting, size and seed that was asked for, or prints the table."""
    options = _options()
    if options.table is not None:
        print(table(read_rows(options.table), read_rows(options.search)))
        return
    torch.set_num_threads(1)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    for task in _tasks(options):
        row = trained(task, options)
        append_row(options.output, row)
        result, about = row["result"], row["about"]
        print(
            f"{task['setting']} {task['size']} seed {task['seed']}: "
            f"MCC {result['mcc_pearson']:.3f} (RDC {result['mcc_rdc']:.3f}), "
            f"NLL {result['nll']:.3f}, {about['fit_cpu_seconds']:.0f} s of CPU, "
            f"feasible: {result['feasible']}",
            flush=True,
        )
    print(f"Rows in {options.output}")


def mechanisms_of(setting: str) -> ModelSettings:
    """The mechanisms the paper learns in a setting: as linear or not as the true ones."""
    kinds = {True: AFFINE, False: NETWORK}
    chosen = SETTINGS[setting]
    return ModelSettings(
        factor_family=kinds[chosen.linear_factors],
        variable_family=kinds[chosen.linear_variables],
    )


def chosen_settings(
    options: argparse.Namespace, n_variables: int, model: ModelSettings
) -> GradientConfig:
    """A preset, with what the command line changes of its grid."""
    config = preset(options.preset, n_variables, model)
    named = {
        "learning_rates": options.rates and tuple(options.rates),
        "penalty_growths": options.growths and tuple(options.growths),
        "n_seeds": options.starts,
        "epochs": options.epochs,
    }
    changed = {name: value for name, value in named.items() if value is not None}
    return replace(config, training=replace(config.training, **changed))


def trained(task: Row, options: argparse.Namespace) -> dict[str, Any]:
    """Fits one problem and compares with the truth."""
    problem = paper_problem(task["setting"], task["size"], task["seed"])
    model = mechanisms_of(task["setting"])
    started = time.process_time()
    found = fit_gradient(
        problem.train,
        problem.n_factors,
        config=chosen_settings(options, problem.train.n_variables, model),
        validation=problem.validation,
        seed=problem.seed,
        progress=_tell if options.verbose else None,
    )
    cpu_seconds = time.process_time() - started
    metrics = MetricSet.ALL if options.all_metrics else MetricSet.FAST
    about = {"fit_seconds": found.seconds, "fit_cpu_seconds": cpu_seconds, **provenance()}
    result = compared_with_truth(problem, found, metrics)
    return {"task": task, "result": result, "error": None, "about": about}


def table(learner: Sequence[Row], search: Sequence[Row]) -> str:
    """For each cell of the learner's rows: the paper's figures, its learner's here, and ours."""
    lines = ["| cell | whose, graphs | " + " | ".join(METRICS.values()) + " |"]
    lines.append("|---" * (len(METRICS) + 2) + "|")
    for cell in dict.fromkeys(_cell(row) for row in learner):
        published = paper_results().get(cell.setting, {}).get(cell.size, {})
        theirs = (_figure(name, *published.get(name, ())) for name in METRICS)
        lines.append(f"| **{cell}** | the paper, 5 | " + " | ".join(theirs) + " |")
        for whose, rows in (("its learner here", learner), ("search", search)):
            own = list(rows_of(rows, cell))
            if own:
                lines.append(f"| | {whose}, {len(own)} | " + " | ".join(_means(own)) + " |")
    return "\n".join(lines)


def _means(rows: list[Row]) -> Iterator[str]:
    for name in METRICS:
        values = values_of(rows, name)
        spread = (values.std(ddof=1),) if len(values) > 1 else ()
        yield _figure(name, values.mean(), *spread) if len(values) else _figure(name)


def _figure(name: str, mean: float | None = None, std: float | None = None) -> str:
    return "–" if mean is None else plus_minus(name, mean, std, digits=3)


def _cell(row: Row) -> Cell:
    return Cell(row["task"]["setting"], row["task"]["size"])


def _tasks(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Those that the file does not have, with what of the grid differs from the preset."""
    done = [row["task"] for row in read_rows(options.output)]
    names = ("rates", "growths", "starts", "epochs")
    grid = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    for size, setting, seed in itertools.product(options.sizes, options.settings, options.seeds):
        task = {"setting": setting, "size": size, "seed": seed}
        task |= {"solver": SOLVERS[options.preset], **grid}
        if task not in done:
            yield task


def _tell(event: ProgressEvent) -> None:
    if event.done % 500 == 0:
        print(f"  {event.stage}: epoch {event.done}, {event.message}", flush=True)


def add_grid_options(parser: argparse.ArgumentParser) -> None:
    """Adds what may be changed of a preset's grid."""
    parser.add_argument("--preset", default="fast", choices=SOLVERS)
    parser.add_argument("--rates", type=float, nargs="+", help="learning rates")
    parser.add_argument("--growths", type=float, nargs="+", help="of the penalty, per epoch")
    parser.add_argument("--starts", type=int, help="starting points for each combination")
    parser.add_argument("--epochs", type=int, help="at most so many")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--settings", nargs="+", default=["a", "b"], choices=list(SETTINGS))
    parser.add_argument("--sizes", nargs="+", default=["16-3"])
    parser.add_argument("--seeds", type=_seeds, default=range(5), help="first:last+1, or one seed")
    add_grid_options(parser)
    parser.add_argument("--all-metrics", action="store_true", help="R² and DCI as well")
    parser.add_argument("--verbose", action="store_true", help="a line every 500 epochs")
    parser.add_argument("-o", "--output", type=Path, default=Path("results/gradient.jsonl"))
    parser.add_argument("--table", type=Path, help="rows to print as a table; nothing is run")
    parser.add_argument("--search", type=Path, default=Path("docs/results/4000/recovery-all.jsonl"))
    return parser.parse_args()


def _seeds(text: str) -> range:
    first, _, last = text.partition(":")
    return range(int(first), int(last) if last else int(first) + 1)


if __name__ == "__main__":
    main()
