"""What training K configurations at once gains over K separate runs, measured in one process.

python -m benchmarks.grid

The ratio is K × (time of a step of one configuration) / (time of a step of K configurations).
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import torch

from ucad.scm.families import AFFINE, NETWORK
from ucad.simulate import Problem, paper_problem
from ucad.solvers.gradient import ModelSettings, fast
from ucad.solvers.gradient.mechanisms import initial_parameters
from ucad.solvers.gradient.problem import RelaxedProblem, make_objective
from ucad.solvers.gradient.training import Training

CASES = [
    ("moments", "16-3", "b"),
    ("moments", "64-6", "b"),
    ("minibatches", "16-3", "b"),
    ("minibatches", "64-6", "b"),
    ("minibatches, MLP F_Z", "16-3", "d"),
]


def main() -> None:
    """Prints the gain for K = 8, 30 and 60."""
    options = _options()
    torch.set_num_threads(1)
    rows = []
    for kind, size, setting in CASES:
        problem = paper_problem(setting, size, seed=0)
        alone = seconds_per_step(problem, kind, 1)
        for K in (1, 8, 30, 60):
            together = alone if K == 1 else seconds_per_step(problem, kind, K)
            row = {
                "data": kind,
                "size": size,
                "K": K,
                "milliseconds_per_step": 1e3 * together,
                "gain": K * alone / together,
            }
            rows.append(row)
            print(
                f"{kind:22s} {size} K = {K:2d}: {1e3 * together:7.2f} ms a step, "
                f"{row['gain']:5.1f} x K separate runs",
                flush=True,
            )
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text("\n".join(json.dumps(row) for row in rows) + "\n")


def seconds_per_step(problem: Problem, kind: str, K: int) -> float:
    """CPU time of one training step with everything in it, the best of five rounds."""
    mlp = NETWORK if "MLP" in kind else AFFINE
    config = fast(problem.train.n_variables, ModelSettings(factor_family=mlp))
    learner = RelaxedProblem.of(problem.train, problem.validation, problem.n_factors, config)
    if kind == "minibatches":
        # Linear mechanisms, but from the data instead of its moments.
        model = ModelSettings(factor_family=NETWORK)
        objective = make_objective(problem.train, replace(config, model=model))
        learner = replace(learner, objective=objective)
    like, n = learner.objective.free_share, problem.train.n_variables
    drawn = initial_parameters(config.model, n, problem.n_factors, list(range(K)))
    start = {name: value.to(like) for name, value in drawn.items()}
    grid = (replace(config.training, warm_up_epochs=(0,)).grid(0)[0],) * K
    training = Training(learner, start, grid, seed=0)
    state = training.first_state()
    best = float("inf")
    for _ in range(5):
        started = time.process_time()
        for _ in range(10):
            training.epoch(state)
        n_steps = 10 * config.training.steps_per_epoch
        best = min(best, (time.process_time() - started) / n_steps)
    return best


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("results/grid.jsonl"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
