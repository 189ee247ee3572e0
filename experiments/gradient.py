"""Quality of the gradient learner on the paper's settings: one row a graph, one line a setting.

python -m experiments.gradient --settings a b --sizes 16-3 64-6 --seeds 1000:1005 --preset fast
python -m experiments.gradient --settings a b --seeds 0:2 --preset paper --epochs 3000
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from ucad._types import Progress, ProgressEvent
from ucad.metrics import mean_correlation
from ucad.scm.families import AFFINE, NETWORK
from ucad.simulate import SETTINGS, Problem, paper_problem
from ucad.solvers.gradient import (
    GradientConfig,
    ModelSettings,
    fit_gradient,
    preset,
)
from ucad.solvers.status import FitResult


def main() -> None:
    """Runs every setting, size and seed that was asked for and prints the table."""
    options = _options()
    torch.set_num_threads(1)
    rows = []
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("a") as file:
        for row in _rows(options):
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(
                f"{row['setting']} {row['size']} seed {row['seed']}: MCC {row['mcc']:.3f}, "
                f"NLL {row['nll']:.3f} (truth {row['true_nll']:.3f}), {row['seconds']:.1f} s "
                f"({row['cpu_seconds']:.1f} s of CPU), feasible: {row['feasible']}",
                flush=True,
            )
    _print_table(rows)
    print(f"\nRows in {options.output}")


def mechanisms_of(setting: str) -> ModelSettings:
    """The mechanisms the paper learns in a setting: as linear or not as the true ones."""
    kinds = {True: AFFINE, False: NETWORK}
    chosen = SETTINGS[setting]
    return ModelSettings(
        factor_family=kinds[chosen.linear_factors],
        variable_family=kinds[chosen.linear_variables],
    )


def evaluate(
    problem: Problem, config: GradientConfig, progress: Progress | None = None
) -> dict[str, object]:
    """Fits one problem and compares with the truth."""
    cpu = time.process_time()
    result = fit_gradient(
        problem.train,
        problem.n_factors,
        config=config,
        validation=problem.validation,
        seed=problem.seed,
        progress=progress,
    )
    return judge(problem, result, time.process_time() - cpu)


def judge(problem: Problem, result: FitResult, cpu_seconds: float) -> dict[str, object]:
    """Compares what was learned with the truth."""
    learned_factors = result.scm.state_map(problem.test.x).numpy()
    learned, true = result.scm.graph, problem.scm.graph
    validation = problem.validation
    return {
        "setting": problem.setting,
        "size": problem.size,
        "seed": problem.seed,
        "mcc": mean_correlation(learned_factors, problem.factors).mean,
        "nll": result.validation_nll,
        "true_nll": problem.scm.nll(validation.x, validation.is_intervened),
        "edges": int(learned.Q.sum() + learned.R.sum()),
        "true_edges": int(true.Q.sum() + true.R.sum()),
        "feasible": result.status.feasible,
        "status": str(result.status),
        "notes": list(result.status.notes),
        "seconds": result.seconds,
        "cpu_seconds": cpu_seconds,
    }


def _rows(options: argparse.Namespace) -> Iterator[dict[str, object]]:
    about = {"preset": options.preset, "epochs": options.epochs}
    for setting, size in itertools.product(options.settings, options.sizes):
        for seed in options.seeds:
            problem = paper_problem(setting, size, seed)
            tell = _tell if options.verbose else None
            yield {**about, **evaluate(problem, _config(problem, options), tell)}


def _tell(event: ProgressEvent) -> None:
    if event.done % 500 == 0:
        print(f"  {event.stage}: epoch {event.done}, {event.message}", flush=True)


def _config(problem: Problem, options: argparse.Namespace) -> GradientConfig:
    model = mechanisms_of(problem.setting)
    config = preset(options.preset, problem.train.n_variables, model)
    if options.epochs is None:
        return config
    return replace(config, training=replace(config.training, epochs=options.epochs))


def _print_table(rows: list[dict[str, object]]) -> None:
    print("\n| setting | graphs | MCC mean (worst) | feasible | seconds | CPU seconds |")
    print("|---|---|---|---|---|---|")
    for setting, size in dict.fromkeys((row["setting"], row["size"]) for row in rows):
        own = [row for row in rows if (row["setting"], row["size"]) == (setting, size)]
        mcc, wall, cpu = (
            np.array([row[name] for row in own], dtype=float)
            for name in ("mcc", "seconds", "cpu_seconds")
        )
        feasible = sum(bool(row["feasible"]) for row in own)
        print(
            f"| {setting} {size} | {len(own)} | {mcc.mean():.3f} ({mcc.min():.3f}) | "
            f"{feasible}/{len(own)} | {wall.mean():.1f} | {cpu.mean():.1f} |"
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", nargs="+", default=["a", "b"], choices=list(SETTINGS))
    parser.add_argument("--sizes", nargs="+", default=["16-3"])
    parser.add_argument("--seeds", type=_seeds, default=range(5), help="first:last+1, or one seed")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--epochs", type=int, default=None, help="at most so many")
    parser.add_argument("--verbose", action="store_true", help="a line every 500 epochs")
    parser.add_argument("--output", type=Path, default=Path("results/gradient.jsonl"))
    return parser.parse_args()


def _seeds(text: str) -> range:
    first, _, last = text.partition(":")
    return range(int(first), int(last) if last else int(first) + 1)


if __name__ == "__main__":
    main()
