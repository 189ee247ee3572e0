from dataclasses import replace

import pytest
import torch

from ucad.simulate import Problem, paper_problem
from ucad.solvers.gradient import (
    ConstraintSettings,
    GradientConfig,
    ModelSettings,
    ReplaceSettings,
    TrainingSettings,
)
from ucad.solvers.gradient.candidates import Learner
from ucad.solvers.gradient.learner import make_learner
from ucad.solvers.gradient.mechanisms import initial_parameters


@pytest.fixture(scope="session")
def problem() -> Problem:
    return paper_problem("b", "16-3", seed=0, n_samples=1000)


@pytest.fixture(scope="session")
def layered() -> Problem:
    return paper_problem("a", "16-3", seed=0, n_samples=1000)


@pytest.fixture
def config() -> GradientConfig:
    training = TrainingSettings(n_seeds=1, epochs=12, evaluate_every=4, warm_up_epochs=(0, 4))
    # The true graph of the problem has a density of 0.25.
    return GradientConfig(
        constraints=ConstraintSettings(sparsity_tolerance=0.3),
        training=training,
        replace_factor=ReplaceSettings(rounds=0),
    )


@pytest.fixture
def learner(problem: Problem, config: GradientConfig) -> Learner:
    return make_learner(problem.train, problem.validation, 3, config, "cpu")


def start_of(learner: Learner, seeds: list[int], model: ModelSettings | None = None):
    dtype = learner.problem.objective.free_share.dtype
    return initial_parameters(model or learner.model, 16, 3, seeds, dtype)


def with_training(config: GradientConfig, **settings: object) -> GradientConfig:
    return replace(config, training=replace(config.training, **settings))


torch.set_num_threads(1)
