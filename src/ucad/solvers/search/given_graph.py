"""A model of a given graph: where prior knowledge starts, and what a search is compared with."""

from __future__ import annotations

import numpy as np

from ucad._types import VariablesByFactors
from ucad.data import InterventionalData
from ucad.graph import FactorGraph
from ucad.scm.families import EMPTY, Family, Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import THOROUGH, unit_variance
from ucad.solvers.search.export import as_scm
from ucad.solvers.search.improve import improve
from ucad.solvers.search.model import Model, fit_variables, polish
from ucad.solvers.search.moves.refit_from_another_start import RefitFromAnotherStart
from ucad.solvers.search.notes import fit_status
from ucad.solvers.search.single_index import leading_direction
from ucad.solvers.status import FitResult

__all__ = ["model_of_graph", "oracle_score"]

N_ROUNDS = 8
"""Rounds of joint fitting, twice those of a search, which comes with fitted factors."""


def oracle_score(
    data: InterventionalData,
    graph: FactorGraph,
    families: tuple[Family, Family],
    *,
    validation: InterventionalData | None = None,
    seed: int = 0,
) -> FitResult:
    """Fits a given graph, by the same refinement as a search ends with.

    If its score (the last row of the history) is above that of a search, the search is at fault;
    if it is below, the data do not tell.
    """
    problem = Problem.of(data, graph.n_factors, families, seed=seed)
    model = model_of_graph(problem, graph.Q, graph.R)
    model = improve(problem, model, [RefitFromAnotherStart()])
    model = polish(problem, model, THOROUGH, N_ROUNDS)
    held_out = data if validation is None else validation
    scm = as_scm(problem, model)
    return FitResult(
        scm,
        fit_status(problem, model, None),
        scm.nll(held_out.x, held_out.is_left_out),
        ({"stage": "given graph", "score": model.score},),
        problem.budget.seconds,
    )


def model_of_graph(problem: Problem, Q: VariablesByFactors, R: VariablesByFactors) -> Model:
    """Reads every factor off a child that depends on as few other factors as possible.

    The factors are taken in causal order, and what those before have explained of the child is
    subtracted: for an out-anchor nothing is.
    """
    graph = FactorGraph(np.asarray(Q), np.asarray(R))
    factors: list[Function | None] = [None] * graph.n_factors
    for k in graph.factor_order:
        factors[k] = _read_off(problem, graph, int(k), factors)
    done = [function for function in factors if function is not None]
    return fit_variables(problem, done, np.asarray(graph.R), THOROUGH)


def _read_off(
    problem: Problem, graph: FactorGraph, k: int, known: list[Function | None]
) -> Function:
    x = problem.data.x
    parents, children = np.flatnonzero(graph.Q[:, k]), np.flatnonzero(graph.R[:, k])
    if not len(parents) or not len(children):
        return EMPTY
    j = int(children[np.argmin(graph.R[children].sum(axis=1))])
    regression = problem.regression(j)
    others = [f for at in np.flatnonzero(graph.R[j]) if (f := known[at]) is not None]
    if others:
        z = np.stack([f.values(x) for f in others], axis=1)
        fitter = problem.fitter(problem.variable_family)
        shared = fitter.fit(z, np.arange(len(others)), regression)
        regression = regression._replace(target=regression.target - shared.values(z))
    if problem.has_linear_factors:
        smooth = problem.fitter(problem.variable_family).fit(x, parents, regression)
        return unit_variance(leading_direction(smooth.gradient(x), parents), x)
    fitted = problem.fitter(problem.factor_family).fit(x, parents, regression)
    return unit_variance(fitted, x)
