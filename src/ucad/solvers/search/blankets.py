"""Markov blankets by elimination, and an order of the variables by peeling off leaves.

Given everything else, a leaf depends on its parents alone, whoever else is acted on; a parent
depends on its co-parents and children as well. So variables with small blankets go last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import BooleanMatrix
from ucad.solvers.problem import Problem
from ucad.solvers.regression.moments import local_moments, without_noise
from ucad.solvers.regression.stepwise import Problems, select_features

__all__ = ["Peeling", "has_noise", "peel"]

MAX_BLANKET = 64
"""Candidates of a variable that enter its elimination, at O(64³) each."""

MIN_PRICE = 2.0
"""Nats that a variable must be worth in the full regression to enter the elimination."""

NEARLY_SMALLEST = 1.5
"""Blankets up to this multiple of the smallest (or one member more) are peeled in one round."""

RIDGE = 1e-4
"""Added to variances of 1 before the full regressions: with fewer samples than variables the
covariance has no inverse."""


@dataclass(frozen=True, eq=False)
class Peeling:
    """An order of the variables, and who may be a parent of whom.

    Attributes:
        position: the place of every variable; leaves come last.
        candidates: entry [i, j] says that i was in a blanket of j.
    """

    position: Int[np.ndarray, " variables"]
    candidates: BooleanMatrix


def has_noise(problem: Problem) -> bool:
    """Whether every variable keeps variance of its own, above s₀, given all others.

    Without noise a relation can be solved for any of its members, and more search does harm: then
    only a blurred score tells a cause from an effect.
    """
    covariance = problem.data.moments.covariance + 1e-9 * np.eye(problem.data.n_variables)
    left = 1 / np.diag(np.linalg.inv(covariance))
    return bool((left > problem.floor).all())


def peel(problem: Problem) -> Peeling:
    """Takes leaves away, round by round, and computes the blankets they were in again."""
    n = problem.data.n_variables
    known = problem.admissible.ancestors
    alive = np.ones(n, dtype=bool)
    met, position = np.zeros((n, n), dtype=bool), np.zeros(n, dtype=np.int64)
    blanket = np.zeros((n, n), dtype=bool)
    stale, last = alive.copy(), n
    covariance = problem.data.moments.covariance + RIDGE * np.eye(n)
    if problem.reading_noise is not None:
        covariance = without_noise(covariance, problem.reading_noise)
    while alive.any():
        problem.budget.check()
        blanket[:, stale] = _blankets(problem, covariance, alive, np.flatnonzero(stale))
        met |= blanket
        leaves = _leaves(blanket, alive, known)
        size = blanket.sum(axis=0)
        for v in leaves[np.argsort(size[leaves], kind="stable")]:
            last -= 1
            position[v] = last
        alive[leaves] = False
        stale = alive & blanket[leaves].any(axis=0)
        blanket[leaves] = False
    return Peeling(position, met)


def _leaves(
    blanket: BooleanMatrix, alive: Bool[np.ndarray, " variables"], known: BooleanMatrix
) -> Int[np.ndarray, " leaves"]:
    """Variables without a known descendant left whose blanket is smaller than their neighbours'."""
    size = blanket.sum(axis=0).astype(np.float64)
    possible = alive & ~(known & alive).any(axis=1)
    if not possible.any():
        possible = alive
    neighbours = blanket | blanket.T
    smallest_near = np.where(neighbours & possible[:, None], size[:, None], np.inf).min(axis=0)
    is_leaf = possible & (size <= smallest_near)
    smallest = size[is_leaf].min(initial=np.inf)
    is_leaf &= size <= max(NEARLY_SMALLEST * smallest, smallest + 1)
    # Of two neighbours with equal blankets one waits for the next round, when it may look smaller.
    chosen: list[int] = []
    for v in np.flatnonzero(is_leaf):
        if not neighbours[v, chosen].any():
            chosen.append(int(v))
    return np.array(chosen if chosen else [int(np.flatnonzero(possible)[0])], dtype=np.int64)


def _blankets(
    problem: Problem,
    covariance: Float[np.ndarray, "variables variables"],
    alive: Bool[np.ndarray, " variables"],
    targets: Int[np.ndarray, " targets"],
) -> Bool[np.ndarray, "variables targets"]:
    """The members of every target's blanket among the variables that are left."""
    data, there = problem.data, np.flatnonzero(alive)
    precision = np.linalg.inv(covariance[np.ix_(there, there)])
    at = np.searchsorted(there, targets)
    spread = np.sqrt(np.diag(precision))
    partial = (precision / np.outer(spread, spread))[:, at]
    partial[at, np.arange(len(at))] = 0.0
    freedom = max(data.n_samples - len(there), 1)
    price = -freedom / 2 * np.log1p(-np.minimum(partial**2, 1 - 1e-12))
    promising = [
        there[np.sort(order[column[order] > MIN_PRICE][:MAX_BLANKET])]
        for column, order in zip(price.T, np.argsort(-price, axis=0).T, strict=True)
    ]
    moments = local_moments(data.moments, targets, promising, problem.floor)
    every = np.arange(len(targets))
    problems = Problems(moments.gram, moments.n_samples, every, moments.exists)
    found = select_features(problems, problem.penalty)
    members = np.zeros((data.n_variables, len(targets)), dtype=bool)
    rows, columns = np.nonzero(found.selected)
    members[moments.candidates[rows, columns], rows] = True
    return members
