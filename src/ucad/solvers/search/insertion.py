"""A factor taken out of a model, and another put in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ucad._types import BooleanMatrix, VariableSamples
from ucad.graph import boolean_product, transitive_closure
from ucad.scm.families import EMPTY, Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import Effort, values_of
from ucad.solvers.search.model import Edit, Model, edited, unexplained
from ucad.solvers.search.pruning import prune

__all__ = ["Insertion", "children_gained", "emptied", "insertions", "without_factor"]

ALIKE = 0.95
"""Correlation with another factor above which a candidate stands for that factor."""

VALUES_AT_ONCE = 2**19
"""Values of candidates held at a time, with their features: 28 MB in double precision."""


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
    left, below = unexplained(problem, spare), _below(spare, k)
    found = []
    at_once = max(VALUES_AT_ONCE // problem.data.n_samples, 1)
    for start in range(0, len(pool), at_once):
        some = pool[start : start + at_once]
        values = values_of(some, problem.data.x)
        stands_for_another = _correlations(values, others) > ALIKE
        new = np.flatnonzero(~stands_for_another.any(axis=1))
        if not len(new):
            continue
        explained = _explained(problem, values[:, new], left)
        for c, gains in zip(new.tolist(), explained, strict=True):
            gains[_barred(problem, spare, k, some[c], below)] = -np.inf
            total = np.maximum(gains, 0.0).sum() + min(gains.max(), 0.0)
            if np.isfinite(total):
                price = problem.penalty * len(some[c].parents)
                found.append(Insertion(some[c], gains, float(total) - price))
    return sorted(found, key=lambda one: -one.total)


def children_gained(
    problem: Problem, model: Model, k: int, function: Function, left: VariableSamples
) -> Float[np.ndarray, " variables"]:
    """Nats, less an edge, that each variable would gain as a further child of factor k = function.

    −∞ for what is not admissible, or would close a cycle.
    """
    values = values_of([function], problem.data.x)
    gains = _explained(problem, values, left)[0]
    gains[_barred(problem, model, k, function, _below(model, k))] = -np.inf
    return gains


def _below(model: Model, k: int) -> BooleanMatrix:
    """[i, j]: whether variable j is i itself or comes of it, by whatever factor but k."""
    Q, R = np.delete(model.Q, k, axis=1), np.delete(model.R, k, axis=1)
    return transitive_closure(boolean_product(Q, R.T)) | np.eye(len(Q), dtype=bool)


def _barred(
    problem: Problem, model: Model, k: int, function: Function, below: BooleanMatrix
) -> Bool[np.ndarray, " variables"]:
    """What cannot be a further child of factor k = function.

    A cycle that a child closes is a way from the child to a parent of the factor, whatever other
    children it has: a shorter way leads past the factor.
    """
    Q = model.Q.copy()
    Q[:, k] = np.isin(np.arange(len(Q)), function.parents)
    possible = problem.admissible.children_for(Q)[:, k] & ~model.R[:, k]
    return ~possible | below[:, function.parents].any(axis=1)


def _correlations(
    values: Float[np.ndarray, "samples candidates"],
    others: Sequence[Float[np.ndarray, " samples"]],
) -> Float[np.ndarray, "candidates others"]:
    """The absolute correlations of candidates with factors; 0 of a constant."""
    centred = values - values.mean(axis=0)
    centred /= np.maximum(np.linalg.norm(centred, axis=0), 1e-12)
    theirs = np.array([(one - one.mean()) / np.linalg.norm(one - one.mean()) for one in others])
    return np.abs(centred.T @ theirs.reshape(-1, len(values)).T)


def _explained(
    problem: Problem, values: Float[np.ndarray, "samples candidates"], left: VariableSamples
) -> Float[np.ndarray, "candidates variables"]:
    """Nats that functions of single candidates explain of residuals, less the price of an edge."""
    family = problem.variable_family
    price = problem.penalty + family.features(values[:1]).shape[2] / 2
    return problem.explained_nats(values, left, family, problem.floor).T - price
