"""A first model of a given graph, from which refinement starts."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from ucad.data import InterventionalData
from ucad.graph import FactorGraph
from ucad.solvers.search.directions import leading_direction
from ucad.solvers.search.functions import NOTHING, Function, Regression, fit_function, unit_variance
from ucad.solvers.search.refinement import Model, fit_variables
from ucad.solvers.search.settings import FitSettings
from ucad.solvers.search.sparse import fit_sparse_function

__all__ = ["model_of_graph", "predict_variable"]


def model_of_graph(data: InterventionalData, graph: FactorGraph, settings: FitSettings) -> Model:
    """Reads every factor off a child that depends on as few other factors as possible.

    The factors are taken in causal order, and what those before have explained of the child is
    subtracted: for an out-anchor nothing is.
    """
    factors: list[Function | None] = [None] * graph.n_factors
    for k in graph.factor_order:
        factors[k] = _read_off(data, graph, int(k), factors, settings)
    done = [function for function in factors if function is not None]
    return fit_variables(data, done, np.asarray(graph.R), settings)


def predict_variable(
    data: InterventionalData,
    j: int,
    rest: Int[np.ndarray, " some"],
    allowed: Int[np.ndarray, " possible"],
    settings: FitSettings,
) -> tuple[Function, float, int]:
    """A factor that predicts x_j, with what a function of its parents leaves of x_j."""
    free = ~data.is_intervened[:, j]
    regression = Regression(data.x[:, j], free.astype(np.float64))
    config = settings.factor_fit if settings.factor_fit.hidden else settings.variable_fit
    fitted = factor = fit_sparse_function(data, rest, regression, allowed, config)
    if not settings.factor_fit.hidden:
        factor = leading_direction(fitted.gradient(data.x), fitted.parents)
    error = float(np.mean((data.x[:, j] - fitted.values(data.x))[free] ** 2))
    return unit_variance(factor, data.x), error, len(fitted.parents)


def _read_off(
    data: InterventionalData,
    graph: FactorGraph,
    k: int,
    known: list[Function | None],
    settings: FitSettings,
) -> Function:
    parents, children = np.flatnonzero(graph.Q[:, k]), np.flatnonzero(graph.R[:, k])
    if not len(parents) or not len(children):
        return NOTHING
    j = int(children[np.argmin(graph.R[children].sum(axis=1))])
    weights = (~data.is_intervened[:, j]).astype(np.float64)
    others = [f for at in np.flatnonzero(graph.R[j]) if (f := known[at]) is not None]
    target = data.x[:, j]
    if others:
        z = np.stack([f.values(data.x) for f in others], axis=1)
        some = np.arange(len(others))
        regression = Regression(target, weights)
        shared = fit_function(z, some, regression, settings.variable_fit)
        target = target - shared.values(z)
    regression = Regression(target, weights)
    if settings.variable_fit.hidden and not settings.factor_fit.hidden:
        smooth = fit_function(data.x, parents, regression, settings.variable_fit)
        return unit_variance(leading_direction(smooth.gradient(data.x), parents), data.x)
    fitted = fit_function(data.x, parents, regression, settings.factor_fit)
    return unit_variance(fitted, data.x)
