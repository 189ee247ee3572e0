"""A factor taken out of a model, and another put in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ucad._types import VariableSamples
from ucad.scm.families import EMPTY, Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import Effort
from ucad.solvers.search.model import Edit, Model, edited, is_acyclic, unexplained
from ucad.solvers.search.pruning import prune

__all__ = ["Insertion", "children_gained", "emptied", "insertions", "without_factor"]

ALIKE = 0.95
"""Correlation with another factor above which a candidate stands for that factor."""

COLLINEAR = 1e-9
"""Of the variance of a candidate's functions, added to their Gram matrix: they may be collinear."""


class Insertion(NamedTuple):
    """A candidate for an empty place, what each variable gains by it, and what that is in all."""

    function: Function
    gains: Float[np.ndarray, " variables"]
    total: float


def emptied(problem: Problem, model: Model, k: int, effort: Effort) -> Model:
    """The model whose factor k has no edges, its children having the other factors they had."""
    R = model.R.copy()
    R[:, k] = False
    return edited(problem, model, Edit(R, {k: EMPTY}), effort)[0]


def without_factor(problem: Problem, model: Model, k: int, effort: Effort) -> Model:
    """The model whose factor k has no edges, its children being given to all others they may.

    That shows what the factor is really worth.
    """
    Q, R = model.Q.copy(), model.R.copy()
    children = np.flatnonzero(R[:, k])
    Q[:, k] = R[:, k] = False
    for j in children:
        for other in np.flatnonzero(Q.any(axis=0)):
            wider = R.copy()
            wider[j, other] = True
            if problem.admissible.allows(Q, wider):
                R = wider
    refitted, touched = edited(problem, model, Edit(R, {k: EMPTY}), effort)
    return prune(problem, refitted, effort, only=touched)


def insertions(problem: Problem, spare: Model, k: int, pool: Sequence[Function]) -> list[Insertion]:
    """The candidates for the empty place k, those first that explain most of what is left."""
    others = [values for at, values in enumerate(spare.state.T) if at != k and values.std() > 0]
    left = unexplained(problem, spare)
    found = []
    for function in pool:
        values = function.values(problem.data.x)
        if any(abs(np.corrcoef(values, other)[0, 1]) > ALIKE for other in others):
            continue
        gains = children_gained(problem, spare, k, function, left)
        total = np.maximum(gains, 0.0).sum() + min(gains.max(), 0.0)
        if np.isfinite(total):
            price = problem.penalty * len(function.parents)
            found.append(Insertion(function, gains, float(total) - price))
    return sorted(found, key=lambda one: -one.total)


def children_gained(
    problem: Problem, model: Model, k: int, function: Function, left: VariableSamples
) -> Float[np.ndarray, " variables"]:
    """Nats, less an edge, that each variable would gain as a further child of factor k = function.

    −∞ for what is not admissible, or would close a cycle with children that gain more.
    """
    gains = _explained(problem, function, left, model.errors)
    Q, R = model.Q.copy(), model.R.copy()
    Q[:, k] = np.isin(np.arange(len(Q)), function.parents)
    possible = problem.admissible.children_for(Q)[:, k] & ~R[:, k]
    gains[~possible] = -np.inf
    order = np.argsort(-gains, kind="stable")
    n_tried = max(int((gains > 0).sum()), 1)
    for j in order[:n_tried]:
        if np.isfinite(gains[j]):
            R[j, k] = True
            if not is_acyclic(Q, R):
                R[j, k], gains[j] = False, -np.inf
    return gains


def _explained(
    problem: Problem,
    function: Function,
    left: VariableSamples,
    errors: Float[np.ndarray, " variables"],
) -> Float[np.ndarray, " variables"]:
    """Nats that functions of one candidate explain of each residual, less the price of an edge."""
    values = function.values(problem.data.x)
    features = problem.variable_family.features(values[:, None])[:, 0]
    design = np.column_stack([features, np.ones(len(values))])
    ridge = COLLINEAR * len(values) * np.eye(design.shape[1])
    if problem.weights is None:
        cross = design.T @ left
        explained = (cross * np.linalg.solve(design.T @ design + ridge, cross)).sum(axis=0)
    else:
        cross = design.T @ (left * problem.weights)
        grams = np.einsum("sj,sa,sb->jab", problem.weights, design, design, optimize=True) + ridge
        explained = (cross.T * np.linalg.solve(grams, cross.T[:, :, None])[:, :, 0]).sum(axis=1)
    counts = np.maximum(problem.data.moments.left_out.n_free, 1)
    share = explained / (counts * (errors + problem.floor))
    nats: Float[np.ndarray, " variables"] = -counts / 2 * np.log1p(-np.minimum(share, 1 - 1e-9))
    return nats - problem.penalty - features.shape[1] / 2
