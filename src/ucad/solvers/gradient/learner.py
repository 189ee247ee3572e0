"""Data and settings put together into one fitting problem."""

from __future__ import annotations

import torch

from ucad.data import InterventionalData
from ucad.solvers.gradient.candidates import Learner
from ucad.solvers.gradient.mechanisms import ModelSettings
from ucad.solvers.gradient.minibatch_objective import MinibatchObjective
from ucad.solvers.gradient.moment_objective import MomentObjective, moments_fit_in_memory
from ucad.solvers.gradient.objective import Objective
from ucad.solvers.gradient.presets import GradientConfig
from ucad.solvers.gradient.problem import Constraints, RelaxedProblem
from ucad.solvers.gradient.relaxed_graph import Sampling, possible_edges

__all__ = ["make_learner", "make_objective"]


def make_learner(
    data: InterventionalData,
    validation: InterventionalData,
    n_factors: int,
    config: GradientConfig,
    device: torch.device | str = "cpu",
) -> Learner:
    """Puts data and settings together into one fitting problem."""
    possible = possible_edges(data.n_variables, n_factors, config.prior, data.layer_of).to(device)
    layer_of = None if data.layer_of is None else torch.tensor(data.layer_of, device=device)
    batch_size = config.training.batch_size
    train_objective, validation_objective = (
        make_objective(part, config.model, batch_size=batch_size, device=device)
        for part in (data, validation)
    )
    constraints = Constraints(config.constraints, layer_of)
    problem = RelaxedProblem(train_objective, constraints, possible, _sampling(config, data))
    return Learner(
        problem,
        validation_objective,
        config.model,
        config.training,
        config.refit,
        config.tie,
        data.variable_names,
        validation.n_samples / (data.n_samples + validation.n_samples),
    )


def make_objective(
    data: InterventionalData,
    settings: ModelSettings,
    *,
    batch_size: int = 512,
    device: torch.device | str = "cpu",
) -> Objective:
    """Chooses moments where both mechanisms are linear and they fit, and minibatches otherwise."""
    if settings.is_linear and moments_fit_in_memory(data.n_variables):
        return MomentObjective.from_data(data, settings.variance_floor, device)
    return MinibatchObjective.from_data(data, settings.variance_floor, batch_size, device)


def _sampling(config: GradientConfig, data: InterventionalData) -> Sampling:
    """Returns the sampling that was asked for, unless it needs moments and there are none.

    Only moments can leave a variable out of its own prediction; where soft samples meet
    minibatches, the samples have to do it.
    """
    sampling = config.training.sampling
    from_moments = config.model.is_linear and moments_fit_in_memory(data.n_variables)
    return Sampling.EXCLUSIVE if sampling is Sampling.SOFT and not from_moments else sampling
