from dataclasses import replace

import pytest
import torch

from ucad.scm import AffineMap, LinearMechanism
from ucad.simulate import Problem, paper_problem
from ucad.solvers.gradient import (
    ConstraintSettings,
    GradientConfig,
    ModelSettings,
    TrainingSettings,
)
from ucad.solvers.gradient.mechanisms import initial_parameters
from ucad.solvers.gradient.problem import RelaxedProblem
from ucad.solvers.gradient.relaxed_graph import EdgeLogits, RelaxedGraph


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
    )


@pytest.fixture
def learner(problem: Problem, config: GradientConfig) -> RelaxedProblem:
    return RelaxedProblem.of(problem.train, problem.validation, 3, config)


def start_of(learner: RelaxedProblem, seeds: list[int], model: ModelSettings | None = None):
    like = learner.objective.free_share
    drawn = initial_parameters(model or learner.config.model, 16, 3, seeds)
    return {name: value.to(like) for name, value in drawn.items()}


def with_training(config: GradientConfig, **settings: object) -> GradientConfig:
    return replace(config, training=replace(config.training, **settings))


def graph_logits(graph: RelaxedGraph) -> EdgeLogits:
    """Logits whose most likely edges are those of discrete graphs."""
    Q, R = graph
    return torch.stack([4.0 * Q, 4.0 * R, 3.0 * (1 - Q) * (1 - R)], dim=-3)


def graph_of(scm) -> RelaxedGraph:
    """Q and R of a model, as those of one configuration."""
    return RelaxedGraph(*(torch.tensor(part)[None].double() for part in (scm.graph.Q, scm.graph.R)))


def parameters_of(scm):
    """A model as parameters of one configuration: z is shifted, since F_Z has no bias here."""
    linear = isinstance(scm.factor_mechanism, LinearMechanism)
    shift = scm.factor_mechanism.bias if linear else scm.factor_mechanism.b2
    centred = scm.reparametrised(AffineMap(torch.ones_like(shift), shift))
    own = {"logits": graph_logits(graph_of(scm))[0]}
    for name, one in {"F_Z": centred.factor_mechanism, "F_X": centred.variable_mechanism}.items():
        for part in ("weight",) if linear else ("w1", "b1", "w2"):
            own[f"{name}.{part}"] = getattr(one, part)
    variables = centred.variable_mechanism
    own["F_X.bias"] = variables.bias if linear else variables.b2
    own["log_variance"] = scm.noise_scale.square().clamp_min(1e-4).log()
    return {name: value[None].double() for name, value in own.items()}


torch.set_num_threads(1)


def true_graph(problem, dtype=torch.float64) -> RelaxedGraph:
    """The edges of the true model, for one of each."""
    return RelaxedGraph(*(part.to(dtype) for part in graph_of(problem.scm)))


def drawn_start(settings, n_variables=16, n_factors=3, seeds=(0,), dtype=torch.float64):
    """Parameters as a training starts with them."""
    drawn = initial_parameters(settings, n_variables, n_factors, list(seeds))
    return {name: value.to(dtype) for name, value in drawn.items()}


def all_rows(data) -> torch.Tensor:
    """Every sample in one batch."""
    return torch.arange(data.n_samples)
