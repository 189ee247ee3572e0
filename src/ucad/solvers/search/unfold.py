"""Starting factors again where a child is not a monotone function of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ucad.data import InterventionalData
from ucad.solvers.search.directions import leading_direction
from ucad.solvers.search.functions import Function, Regression, fit_function, unit_variance
from ucad.solvers.search.refinement import Model, close, fit_variables, polish
from ucad.solvers.search.settings import FitSettings

__all__ = ["unfold"]

N_FIRST_STEPS = 3
N_ROUNDS = 2


def unfold(
    data: InterventionalData,
    model: Model,
    settings: FitSettings,
    final: FitSettings,
    only: Sequence[int] | None = None,
) -> Model:
    """Starts each factor again from the direction along which it changes most.

    A factor read off a child x_j = g(z) is g(z). If g is not monotone, the true factor is no
    function of that, one hidden layer cannot follow the folds of g, and no small change undoes
    them. But ∇g(z) = g'(z) ∇z has the direction of ∇z whatever g is: a factor that is linear along
    the leading one, fitted together with its children, has no folds. Kept if the score is higher.
    With `only`, just the given factors.
    """
    for k in range(len(model.factors)) if only is None else only:
        if not len(model.factors[k].parents) or not model.R[:, k].any():
            continue
        trial = polish(data, _restarted(data, model, k, settings), settings, N_ROUNDS, only=[k])
        if close(trial, model, settings):
            trial = polish(data, trial, final, 1, only=[k])
        if trial.score > model.score:
            model = trial
    return model


def _restarted(data: InterventionalData, model: Model, k: int, settings: FitSettings) -> Model:
    """The model with a straight factor k, and its children fitted to it from nothing."""
    children = np.flatnonzero(model.R[:, k])
    straight = _straight(data, model.factors[k], settings)
    factors = list(model.factors)
    factors[k] = straight
    forgotten = list(model.variables)
    for j in children:
        g = model.variables[j]
        forgotten[j] = Function(g.parents, None, None, np.zeros(len(g.parents)), 0.0)
    start = replace(model, variables=tuple(forgotten))
    return fit_variables(data, factors, model.R, settings, start=start, only=children)


def _straight(data: InterventionalData, factor: Function, settings: FitSettings) -> Function:
    linear = leading_direction(factor.gradient(data.x), factor.parents)
    if settings.factor_fit.hidden:
        regression = Regression(linear.values(data.x), np.ones(data.n_samples))
        rough = replace(settings.factor_fit, n_steps=N_FIRST_STEPS)
        linear = fit_function(data.x, factor.parents, regression, rough)
    return unit_variance(linear, data.x)
