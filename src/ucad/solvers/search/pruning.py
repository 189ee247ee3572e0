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
    made = np.flatnonzero(model.R.any(axis=1))
    for j in made if only is None else np.intersect1d(made, only):
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
    """All edges at once, for together they may have fitted noise; then one after the other."""
    without = _made_by(data, model, j, np.array([], dtype=np.int64), settings)
    if without.score > model.score:
        return without
    regression = Regression(data.x[:, j], (~data.is_intervened[:, j]).astype(np.float64))
    while len(model.variables[j].parents) > 1:
        price = permutation_price(model.state, model.variables[j], regression, settings.floor)
        rest = np.delete(model.variables[j].parents, int(np.argmin(price)))
        trial = _made_by(data, model, j, rest, settings)
        if trial.score <= model.score:
            break
        model = trial
    return model


def _made_by(
    data: InterventionalData,
    model: Model,
    j: int,
    factors: Int[np.ndarray, " some"],
    settings: FitSettings,
) -> Model:
    """The model with variable j as a function of these factors."""
    free = ~data.is_intervened[:, j]
    regression = Regression(data.x[:, j], free.astype(np.float64))
    variables, errors = list(model.variables), model.errors.copy()
    variables[j] = fit_function(model.state, factors, regression, settings.variable_fit)
    errors[j] = np.mean((data.x[:, j] - variables[j].values(model.state))[free] ** 2)
    return scored(data, replace(model, variables=tuple(variables), errors=errors), settings)
