"""Taking edges away that a model does better without."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Int

from ucad.data import InterventionalData
from ucad.solvers.search.functions import Regression, fit_function, unit_variance
from ucad.solvers.search.refinement import Model, refit, scored
from ucad.solvers.search.settings import FitSettings
from ucad.solvers.search.sparse import permutation_price

__all__ = ["prune"]

CHEAP = 100.0


def prune(
    data: InterventionalData,
    model: Model,
    settings: FitSettings,
    only: Int[np.ndarray, " some"] | None = None,
) -> Model:
    """Takes edges away, the cheapest first, while the score of the refitted model rises.

    With `only`, just the edges from factors to the given variables.
    """
    if only is None:
        for k in range(len(model.factors)):
            model = _prune_factor(data, model, k, settings)
    several = np.flatnonzero(model.R.sum(axis=1) > 1)
    for j in several if only is None else np.intersect1d(several, only):
        model = _prune_variable(data, model, int(j), settings)
    return model


def _prune_factor(data: InterventionalData, model: Model, k: int, settings: FitSettings) -> Model:
    while len(model.factors[k].parents) > 1:
        function = model.factors[k]
        own = Regression(function.values(data.x), np.ones(data.n_samples))
        price = permutation_price(data.x, function, own, settings.floor)
        cheapest = int(np.argmin(price))
        if price[cheapest] > CHEAP * settings.penalty:
            break
        rest = np.delete(function.parents, cheapest)
        fitted = fit_function(data.x, rest, own, settings.factor_fit, start=function)
        changed = model.with_factor(k, unit_variance(fitted, data.x), data)
        trial = refit(data, changed, np.flatnonzero(model.R[:, k]), settings)
        if trial.score <= model.score:
            break
        model = trial
    return model


def _prune_variable(data: InterventionalData, model: Model, j: int, settings: FitSettings) -> Model:
    z = model.state
    free = (~data.is_intervened[:, j]).astype(np.float64)
    regression = Regression(data.x[:, j], free)
    while len(model.variables[j].parents) > 1:
        price = permutation_price(z, model.variables[j], regression, settings.floor)
        rest = np.delete(model.variables[j].parents, int(np.argmin(price)))
        fitted = fit_function(z, rest, regression, settings.variable_fit)
        variables, errors = list(model.variables), model.errors.copy()
        variables[j] = fitted
        errors[j] = np.mean((data.x[:, j] - fitted.values(z))[free > 0] ** 2)
        trial = scored(data, replace(model, variables=tuple(variables), errors=errors), settings)
        if trial.score <= model.score:
            break
        model = trial
    return model
