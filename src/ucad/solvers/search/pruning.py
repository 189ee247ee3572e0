"""Taking edges away that a model does better without."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from jaxtyping import Int

from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import Effort, Regression, unit_variance
from ucad.solvers.regression.parent_selection import permutation_price
from ucad.solvers.search.model import Model, fit_variable, refit, variable_fitter, with_variable

__all__ = ["prune", "without_parent"]

DEAR = 100.0
"""Prices of an edge above which taking a parent away is not even tried: a permutation price
overstates what is lost, but not by two orders of magnitude."""


def prune(
    problem: Problem,
    model: Model,
    effort: Effort,
    only: Collection[int] | None = None,
    factors: Collection[int] = (),
) -> Model:
    """Takes edges away, the cheapest first, while the score of the refitted model rises.

    With `only`, just the edges into the given variables and into the given factors. Edges that
    prior knowledge requires stay.
    """
    for k in range(len(model.factors)) if only is None else factors:
        model = _prune_factor(problem, model, k, effort)
    made = np.flatnonzero(model.R.any(axis=1))
    for j in made if only is None else np.intersect1d(made, list(only)):
        model = _prune_variable(problem, model, int(j), effort)
    return model


def without_parent(problem: Problem, model: Model, k: int, place: int, effort: Effort) -> Model:
    """The model with one parent of factor k fewer, the factor and its children fitted again."""
    problem.budget.check()
    function, own = model.factors[k], _own(problem, model, k)
    # The factor's own values have the noise of its parents' readings in them: nothing to take off.
    fitter = replace(problem, noise=None).fitter(problem.factor_family, effort)
    fitted = fitter.fit(problem.data.x, np.delete(function.parents, place), own, function)
    changed = model.with_factor(k, unit_variance(fitted, problem.data.x), problem.data.x)
    return refit(problem, changed, np.flatnonzero(model.R[:, k]), effort)


def _own(problem: Problem, model: Model, k: int) -> Regression:
    """What factor k is, as something to be fitted."""
    values = model.factors[k].values(problem.data.x)
    return Regression(values, np.ones(len(values)))


def _prune_factor(problem: Problem, model: Model, k: int, effort: Effort) -> Model:
    while len(model.factors[k].parents) > 1:
        own = _own(problem, model, k)
        price = permutation_price(problem.data.x, model.factors[k], own, problem.floor)
        cheapest = int(np.argmin(price))
        if price[cheapest] > DEAR * problem.penalty:
            break
        trial = without_parent(problem, model, k, cheapest, effort)
        if trial.score <= model.score or not _allowed(problem, trial):
            break
        model = trial
    return model


def _prune_variable(problem: Problem, model: Model, j: int, effort: Effort) -> Model:
    """All edges at once, for together they may have fitted noise; then one after the other."""
    problem.budget.check()
    without = _made_by(problem, model, j, np.array([], dtype=np.int64), effort)
    if without.score > model.score and _allowed(problem, without):
        return without
    regression = problem.regression(j)
    while len(model.variables[j].parents) > 1:
        price = permutation_price(model.state, model.variables[j], regression, problem.floor)
        rest = np.delete(model.variables[j].parents, int(np.argmin(price)))
        trial = _made_by(problem, model, j, rest, effort)
        if trial.score <= model.score or not _allowed(problem, trial):
            break
        model = trial
    return model


def _made_by(
    problem: Problem, model: Model, j: int, factors: Int[np.ndarray, " some"], effort: Effort
) -> Model:
    """The model with variable j as a function of these factors."""
    fitter = variable_fitter(problem, model.factors, effort)
    function, error = fit_variable(problem, model.state, factors, j, fitter)
    return with_variable(problem, model, j, function, error)


def _allowed(problem: Problem, model: Model) -> bool:
    """Fewer edges are always legal, unless the prior requires one of them."""
    known = problem.admissible
    return known.prior is None or known.allows(model.Q, model.R)
