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

__all__ = ["Peeling", "has_enough_samples", "has_noise", "peel"]

MAX_BLANKET = 64
"""Candidates of a variable that enter its elimination, at O(64³) each."""

MIN_PRICE = 2.0
"""Nats that a variable must be worth in the full regression to enter the elimination."""

NEARLY_SMALLEST = 1.5
"""Blankets up to this multiple of the smallest (or one member more) are peeled in one round."""

RIDGE = 1e-4
"""Added to variances of 1 before the full regressions, for numerical safety."""

ENOUGH = 2.0
"""Samples per variable below which a regression on all others says next to nothing: correlations
then say which variables enter an elimination."""

TARGETS_AT_ONCE = 256
"""Variables whose partial correlations with all others are looked at in one go: 20 MB at 10,000."""


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
    only a blurred score tells a cause from an effect. With too few samples for a regression on all
    others, each variable is regressed on those that it is most correlated with.
    """
    covariance = problem.data.moments.covariance
    n = len(covariance)
    covariance[np.diag_indices(n)] += 1e-9
    if has_enough_samples(problem):
        return bool((1 / np.diag(np.linalg.inv(covariance)) > problem.floor).all())
    strength = np.abs(covariance) / np.sqrt(np.diag(covariance))[:, None]
    most = min(MAX_BLANKET, n - 1)
    for some in _parts(np.arange(n)):
        near = np.argpartition(-strength[:, some], most, axis=0)[: most + 1].T
        local = covariance[near[:, :, None], near[:, None, :]]
        left = 1 / np.diagonal(np.linalg.inv(local), axis1=1, axis2=2)
        if not (left > problem.floor).all():
            return False
    return True


def peel(problem: Problem) -> Peeling:
    """Takes leaves away, round by round, and computes the blankets they were in again.

    The inverse covariance of what is left is that of before less a Schur complement: O(n² l) for l
    leaves, so that all rounds together cost as much as the first inverse.
    """
    n = problem.data.n_variables
    known = problem.admissible.ancestors
    alive = np.ones(n, dtype=bool)
    met, position = np.zeros((n, n), dtype=bool), np.zeros(n, dtype=np.int64)
    blanket = np.zeros((n, n), dtype=bool)
    stale, last = alive.copy(), n
    matrix = _first_matrix(problem)
    while alive.any():
        problem.budget.check()
        there = np.flatnonzero(alive)
        for some in _parts(np.flatnonzero(stale)):
            blanket[:, some] = _blankets(problem, matrix, there, some)
        met |= blanket
        leaves = _leaves(blanket, alive, known)
        size = blanket.sum(axis=0)
        for v in leaves[np.argsort(size[leaves], kind="stable")]:
            last -= 1
            position[v] = last
        if has_enough_samples(problem):
            matrix = _without(matrix, np.isin(there, leaves))
        else:
            matrix = matrix[np.ix_(*[~np.isin(there, leaves)] * 2)]
        alive[leaves] = False
        stale = alive & blanket[leaves].any(axis=0)
        blanket[leaves] = False
    return Peeling(position, met)


def has_enough_samples(problem: Problem) -> bool:
    """Whether there are enough samples for a regression on all other variables."""
    return problem.data.n_samples >= ENOUGH * problem.data.n_variables


def _parts(some: Int[np.ndarray, " some"]) -> list[Int[np.ndarray, " part"]]:
    return np.array_split(some, max(1, -(-len(some) // TARGETS_AT_ONCE)))


def _first_matrix(problem: Problem) -> Float[np.ndarray, "variables variables"]:
    """The inverse of the covariance of all variables; itself where samples are too few."""
    covariance = problem.data.moments.covariance
    covariance[np.diag_indices_from(covariance)] += RIDGE
    if problem.reading_noise is not None:
        covariance = without_noise(covariance, problem.reading_noise)
    return np.linalg.inv(covariance) if has_enough_samples(problem) else covariance


def _without(
    precision: Float[np.ndarray, "n n"], gone: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, "left left"]:
    """The inverse covariance of what is left when some variables are taken away."""
    rest = precision[np.ix_(~gone, ~gone)]
    across = precision[np.ix_(~gone, gone)]
    rest -= across @ np.linalg.solve(precision[np.ix_(gone, gone)], across.T)
    return rest


def _leaves(
    blanket: BooleanMatrix, alive: Bool[np.ndarray, " variables"], known: BooleanMatrix
) -> Int[np.ndarray, " leaves"]:
    """Variables without a known descendant left whose blanket is smaller than their neighbours'."""
    size = blanket.sum(axis=0).astype(np.float64)
    possible = alive & ~known[:, alive].any(axis=1)
    if not possible.any():
        possible = alive
    member, of = np.nonzero(blanket)
    smallest_near = np.full(len(size), np.inf)
    for one, other in ((member, of), (of, member)):
        np.minimum.at(smallest_near, other, np.where(possible[one], size[one], np.inf))
    is_leaf = possible & (size <= smallest_near)
    smallest = size[is_leaf].min(initial=np.inf)
    is_leaf &= size <= max(NEARLY_SMALLEST * smallest, smallest + 1)
    # Of two neighbours with equal blankets one waits for the next round, when it may look smaller.
    chosen: list[int] = []
    taken = np.zeros(len(size), dtype=bool)
    for v in np.flatnonzero(is_leaf).tolist():
        if not taken[v]:
            chosen.append(v)
            taken |= blanket[v] | blanket[:, v]
    return np.array(chosen if chosen else [int(np.flatnonzero(possible)[0])], dtype=np.int64)


def _blankets(
    problem: Problem,
    matrix: Float[np.ndarray, "left left"],
    there: Int[np.ndarray, " left"],
    targets: Int[np.ndarray, " targets"],
) -> Bool[np.ndarray, "variables targets"]:
    """The members of every target's blanket among the variables that are left.

    The candidates are those with the largest partial correlations given all others, or, where
    samples are too few, the largest correlations.
    """
    data, at = problem.data, np.searchsorted(there, targets)
    spread = np.sqrt(np.diag(matrix))
    partial = matrix[at] / spread / spread[at, None]
    partial[np.arange(len(at)), at] = 0.0
    freedom = data.n_samples - (len(there) if has_enough_samples(problem) else 0)
    price = -freedom / 2 * np.log1p(-np.minimum(partial**2, 1 - 1e-12))
    promising = []
    for row in price:
        some = np.flatnonzero(row > MIN_PRICE)
        best = some[np.argsort(-row[some])[:MAX_BLANKET]]
        promising.append(there[np.sort(best)])
    moments = local_moments(data.moments, targets, promising, problem.floor)
    every = np.arange(len(targets))
    problems = Problems(moments.gram, moments.n_samples, every, moments.exists)
    found = select_features(problems, problem.penalty)
    members = np.zeros((data.n_variables, len(targets)), dtype=bool)
    rows, columns = np.nonzero(found.selected)
    members[moments.candidates[rows, columns], rows] = True
    return members
