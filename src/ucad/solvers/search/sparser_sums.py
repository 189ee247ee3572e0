"""Linear functions with fewer parents: less a multiple of another function, or of a relation.

A variable that is never acted on and has no noise is equal to a function of its causes in every
sample: x_j = b · x. A factor that looks at x_j can then be written in many ways, with x_j or with
causes of it, and a stepwise selection that has taken two of the causes never comes back to x_j.
Likewise z_k + c z_l, where z_k and z_l share a parent, looks at the parents of both. The way with
the fewest parents shows itself: several weights vanish at the same multiple.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from ucad.scm.families import Affine, Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import unit_variance
from ucad.solvers.search.turned_relations import Reading

__all__ = [
    "Relation",
    "equal_functions",
    "exact_relations",
    "sparser_functions",
    "sparsest_difference",
    "without_another",
]

VANISHES = 1e-3
"""Share of the weights that cancel, up to which what is left of them is rounding: weights of exact
relations in single precision are known to 1e-5."""

EXACT = VANISHES**2
"""Share of the variance that an exact relation leaves at most."""

MIN_TOGETHER = 2
"""Weights that must vanish at the same multiple: one always can, two are no accident."""


class Relation(NamedTuple):
    """A variable that equals a linear function of others in every sample."""

    effect: int
    function: Affine

    @property
    def zero(self) -> Affine:
        """x_j − f(x), which is 0."""
        f = self.function
        return Affine(np.append(f.parents, self.effect), np.append(-f.w, 1.0), -f.b)


def equal_functions(
    problem: Problem, functions: Sequence[Function], readings: Collection[Reading]
) -> Iterator[Function]:
    """Functions of unit variance that equal one of these and have no more parents."""
    linear = [one for one in functions if isinstance(one, Affine)]
    if _is_plain(problem):
        for one in sparser_functions(problem, linear, exact_relations(problem, readings)):
            yield unit_variance(one, problem.data.x)


def without_another(problem: Problem, mixed: Function, other: Function) -> Iterator[Function]:
    """z_k − c z_l, of unit variance, where several weights vanish: they may share other parents."""
    if _is_plain(problem) and isinstance(mixed, Affine) and isinstance(other, Affine):
        found = sparsest_difference(problem, mixed, other)
        if found is not None:
            yield unit_variance(found, problem.data.x)


def _is_plain(problem: Problem) -> bool:
    """Whether functions are fitted to the variables themselves, read without noise."""
    return problem.noise is None and problem.response is None


def exact_relations(problem: Problem, readings: Collection[Reading]) -> list[Relation]:
    """The readings of variables never left out that are exact, and sparser versions of them."""
    always = problem.data.moments.left_out.n_free == problem.data.n_samples
    found = []
    for j, parents in sorted(readings):
        if always[j] and parents:
            whole = Affine(np.array([j]), np.ones(1), 0.0)
            fitted = _equal(problem, whole, np.array(parents))
            found += [] if fitted is None else [Relation(j, fitted)]
    shorter = [
        Relation(one.effect, sparser)
        for one in found
        for sparser in sparser_functions(problem, [one.function], found)
        if one.effect not in sparser.parents
    ]
    return found + shorter


def sparser_functions(
    problem: Problem, functions: Sequence[Affine], relations: Sequence[Relation]
) -> Iterator[Affine]:
    """The same functions, each less the multiple of a relation that leaves it fewer parents."""
    zeros = [(one.zero, set(one.zero.parents.tolist())) for one in relations]
    for function in functions:
        parents = set(function.parents.tolist())
        for zero, members in zeros:
            if len(parents & members) >= MIN_TOGETHER:
                sparser = sparsest_difference(problem, function, zero)
                if sparser is not None:
                    yield sparser


def sparsest_difference(problem: Problem, function: Affine, other: Affine) -> Affine | None:
    """The f − r g of which most weights vanish, at least two; None if f has fewer parents."""
    union = np.union1d(function.parents, other.parents)
    f, g = (one.with_parents(union).w for one in (function, other))
    in_both = np.flatnonzero((f != 0) & (g != 0))
    if len(in_both) < MIN_TOGETHER:
        return None
    r = f[in_both] / g[in_both]
    left = f - r[:, None] * g
    vanishes = np.abs(left) <= VANISHES * np.maximum(np.abs(f), np.abs(r[:, None] * g))
    best = int(np.argmax(vanishes.sum(axis=1)))
    together = int((vanishes[best] & (f != 0)).sum())
    keep = np.flatnonzero(~vanishes[best])
    if together < MIN_TOGETHER or not 0 < len(keep) <= len(function.parents):
        return None
    return _equal(
        problem, Affine(union, left[best], function.b - float(r[best]) * other.b), union[keep]
    )


def _equal(problem: Problem, function: Affine, parents: Int[np.ndarray, " some"]) -> Affine | None:
    """The function of these parents that is equal to a given one; None if there is none."""
    both = np.union1d(function.parents, parents)
    covariance = problem.data.moments.covariance_of(both)
    at, w = np.searchsorted(both, parents), function.with_parents(both).w
    found = np.linalg.lstsq(covariance[np.ix_(at, at)], covariance[at] @ w, rcond=None)[0]
    left = w.copy()
    left[at] -= found
    if left @ covariance @ left > EXACT * (w @ covariance @ w):
        return None
    mean = problem.data.moments.sums[both] / problem.data.n_samples
    return Affine(parents, found, function.b + float(left @ mean))
