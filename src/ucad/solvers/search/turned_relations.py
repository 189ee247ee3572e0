"""Relations without noise, solved for another of their members."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Int

from ucad.solvers.problem import Problem
from ucad.solvers.regression.moments import local_moments
from ucad.solvers.regression.stepwise import Problems, select_features

__all__ = ["Reading", "turned_relations"]

COPY = 0.95
"""Correlation above which one variable is taken for a copy of another: without noise two effects of
one factor are equal but in samples that act on them."""

Reading: TypeAlias = tuple[int, tuple[int, ...]]
"""A variable, and the variables that it was read as a function of."""


def turned_relations(problem: Problem, readings: Collection[Reading]) -> Iterator[Reading]:
    """Each parent i of a variable j, read as a function of x_j and the others, where that is exact.

    A relation without noise can be solved for any of its members, and an order of variables may
    have it the wrong way round: where copies of one effect stand first, each explains the others,
    and together they explain a cause. So copies of x_i are left out. Only in samples that act on
    the true effect does the relation break: the true effect alone is explained down to s₀.
    """
    asked = sorted(_asked(problem, readings) - set(readings))
    if not asked:
        return
    targets, rests = np.array([i for i, _ in asked]), [np.array(rest) for _, rest in asked]
    moments = local_moments(problem.data.moments, targets, rests, problem.floor)
    every = np.arange(len(targets))
    problems = Problems(moments.gram, moments.n_samples, every, moments.exists)
    found = select_features(problems, problem.penalty, backward=False)
    exact = found.residual < 2 * problem.floor
    chosen = zip(targets, moments.candidates, found.selected, strict=True)
    turned = {
        (int(i), tuple(rest[some].tolist()))
        for (i, rest, some), holds in zip(chosen, exact, strict=True)
        if holds
    }
    yield from sorted(turned - set(readings))


def _asked(problem: Problem, readings: Collection[Reading]) -> set[Reading]:
    """All ways to turn some relations that may be, with nothing left out but copies."""
    possible, asked = problem.admissible.may_precede, set()
    for j, parents in readings:
        members = np.array([j, *parents])
        copies = _copies(problem, members)
        for at, i in enumerate(parents, start=1):
            rest = members[possible[members, i] & ~copies[at]]
            if len(rest):
                asked.add((i, tuple(np.sort(rest).tolist())))
    return asked


def _copies(
    problem: Problem, members: Int[np.ndarray, " members"]
) -> Bool[np.ndarray, "members members"]:
    """Which of some variables are nearly equal up to scale."""
    covariance = problem.data.moments.covariance_of(members)
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
    return np.asarray(np.abs(covariance) > COPY * np.outer(scale, scale))
