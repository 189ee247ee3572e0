"""Turning round a variable that stands before a factor instead of after it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ucad.data import InterventionalData
from ucad.solvers.search.functions import Function, Regression, fit_function, unit_variance
from ucad.solvers.search.reanchor import gains_of, occupy, unexplained, vacate
from ucad.solvers.search.refinement import Model, polish
from ucad.solvers.search.settings import FitSettings
from ucad.solvers.search.sparse import fit_sparse_function
from ucad.solvers.search.start import leading_direction
from ucad.solvers.search.unfold import CLOSE, unfold

__all__ = ["turn"]


def turn(
    data: InterventionalData, model: Model, settings: FitSettings, final: FitSettings
) -> Model:
    """Replaces a factor by what its parents say of one of them, if the whole model gains by it.

    Where nobody clamps it, a child of a factor predicts its siblings and passes for their cause.
    But true parents of a factor seldom predict each other: a parent that the others predict better
    than its own factors do may be a child. Its regression on them takes the factor's place, whose
    children are given to all factors they may have.
    """
    for k in range(len(model.factors)):
        while (turned := _turned(data, model, k, settings, final)) is not None:
            model = turned
    return model


def _turned(
    data: InterventionalData, model: Model, k: int, settings: FitSettings, final: FitSettings
) -> Model | None:
    """The best model with another factor k; None if it is no better."""
    spare: Model | None = None
    best = model
    for function in _predicted_parents(data, model, k, settings):
        spare = vacate(data, model, k, settings) if spare is None else spare
        gains = gains_of(data, spare, k, function, unexplained(data, spare), settings)
        trial = occupy(data, spare, k, function, gains, settings)
        if trial is None or trial.score < model.score - CLOSE * settings.penalty:
            continue
        if settings.variable_fit.hidden:
            trial = unfold(data, trial, settings, final, only=[k])
        trial = polish(data, trial, final, 1, only=[k])
        if trial.score > best.score:
            best = trial
    return None if best is model else best


def _predicted_parents(
    data: InterventionalData, model: Model, k: int, settings: FitSettings
) -> Iterator[Function]:
    """E[x_i | other parents of k] for every parent i of which that explains more than i's factors.

    The gain must be worth the edge that i would become.
    """
    parents = model.factors[k].parents
    for i in parents if len(parents) > 1 else []:
        rest = parents[parents != i]
        free = ~data.is_intervened[:, i]
        regression = Regression(data.x[:, i], free.astype(np.float64))
        if settings.factor_fit.hidden:
            fitted = fit_sparse_function(data.x, rest, regression, rest, settings.factor_fit)
            factor = fitted
        else:
            fitted = fit_function(data.x, rest, regression, settings.variable_fit)
            factor = leading_direction(fitted.gradient(data.x), rest)
        error = np.mean((data.x[:, i] - fitted.values(data.x))[free] ** 2)
        odds = np.log((model.errors[i] + settings.floor) / (error + settings.floor))
        if free.sum() / 2 * odds > settings.penalty * len(fitted.parents):
            yield unit_variance(factor, data.x)
