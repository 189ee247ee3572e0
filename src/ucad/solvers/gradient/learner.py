"""Data and settings put together into one fitting problem."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from ucad.data import InterventionalData
from ucad.solvers.gradient.candidates import Learner
from ucad.solvers.gradient.mechanisms import ModelSettings
from ucad.solvers.gradient.minibatch_objective import MinibatchObjective
from ucad.solvers.gradient.moment_objective import (
    MomentObjective,
    masked_moments,
    moments_fit_in_memory,
)
from ucad.solvers.gradient.objective import Objective
from ucad.solvers.gradient.presets import GradientConfig
from ucad.solvers.gradient.problem import Constraints, RelaxedProblem
from ucad.solvers.gradient.relaxed_graph import Sampling, possible_edges
from ucad.solvers.search import Mechanisms, SearchConfig
from ucad.solvers.search.causes import find_causes

__all__ = ["make_learner", "make_objective"]

DEGREE = 5
"""Of the polynomials in which a nonlinear F_Z is looked for before it is trained."""


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
    moments = _moments(data, train_objective)
    restarts = config.restarts.rounds > 0 and moments is not None
    return Learner(
        problem,
        validation_objective,
        config.model,
        config.training,
        config.refit,
        config.tie,
        moments,
        _may_cause(data, config.model).to(device) if restarts else None,
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


def _moments(data: InterventionalData, objective: Objective) -> Tensor | None:
    """The moments restarts need: those of the objective, if it has any, or made here.

    Where F_Z may be nonlinear, of polynomials too: an even function of a parent does not show in
    correlations.
    """
    if isinstance(objective, MomentObjective):
        return objective.moments
    for degree in (DEGREE, 1):
        if moments_fit_in_memory(data.n_variables, degree):
            return masked_moments(data, degree).to(objective.free_share.device)
    return None


def _may_cause(data: InterventionalData, model: ModelSettings) -> Bool[Tensor, "causes effects"]:
    """Who may cause whom, by layers, interventions and an order: the first step of the search.

    Without it, a new factor takes one of its children for a parent of the others. Where mechanisms
    are nonlinear and there are no layers, only known descendants are ruled out: weak nonlinear
    effects need not show in the samples of one clamp.
    """
    linear, mlp = Mechanisms.LINEAR, Mechanisms.MLP
    config = SearchConfig(factor_mechanism=linear if model.is_linear else mlp)
    settings = config.settings(data.n_samples, seed=0)
    causes, *_ = find_causes(data, settings, config.screening, config.ordering, seed=0)
    if model.is_linear or data.layer_of is not None:
        return torch.from_numpy(causes.may_cause)
    return torch.from_numpy(~causes.ancestors.T & ~np.eye(data.n_variables, dtype=bool))


def _sampling(config: GradientConfig, data: InterventionalData) -> Sampling:
    """As asked for; but only moments can leave a variable out of its own prediction.

    Where soft samples meet minibatches, the samples have to do it.
    """
    sampling = config.training.sampling
    from_moments = config.model.is_linear and moments_fit_in_memory(data.n_variables)
    return Sampling.EXCLUSIVE if sampling is Sampling.SOFT and not from_moments else sampling
