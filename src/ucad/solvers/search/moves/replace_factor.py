"""Another factor in the place of one that the others can do without."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ucad.scm.families import Function
from ucad.solvers.problem import Problem
from ucad.solvers.search.insertion import Insertion, emptied, insertions, without_factor
from ucad.solvers.search.model import Edit, Model

__all__ = ["ReplaceFactor"]

N_CANDIDATES = 2
"""Candidates tried in a place: the second best was right where the best was a mixture."""

OPTIMISM = 3.0
"""A candidate is not tried if so many times what it promises would not be enough."""


@dataclass(frozen=True, eq=False)
class ReplaceFactor:
    """Puts a candidate that explains more of what the other factors leave in place of a factor.

    A variable with several factors is not an additive function of them, so a factor of its own may
    have been chosen for it. Here its children are first given to all other factors.

    A factor may also stand the wrong way round: among its parents is a child of the true factor,
    among its children are parents, which depend on each other given that child. So candidates
    that make a child of a parent are tried as well, the former children being left alone.

    Attributes:
        pool: the candidates.
    """

    pool: tuple[Function, ...]
    name: str = "another factor"

    def propose(self, problem: Problem, model: Model, only: Collection[int]) -> Iterator[Edit]:
        """Edits that replace each of the given factors by one of the best candidates."""
        rough, _ = problem.efforts()
        for k in only:
            spare = without_factor(problem, model, k, rough)
            yield from _inserted(model, spare, k, insertions(problem, spare, k, self.pool))
            bare, parents = emptied(problem, model, k, rough), model.factors[k].parents
            found = insertions(problem, bare, k, self.pool)
            reversed_ = [one for one in found if (one.gains[parents] > 0).any()]
            yield from _inserted(model, bare, k, reversed_)


def _inserted(model: Model, spare: Model, k: int, found: Sequence[Insertion]) -> Iterator[Edit]:
    """Edits that put one of the best candidates into the empty place."""
    for best in found[:N_CANDIDATES]:
        if spare.score + OPTIMISM * best.total < model.score:
            continue
        R = spare.R.copy()
        R[best.gains > 0, k] = True
        if R[:, k].any() and not _is_same(model, k, best.function, R):
            yield Edit(R, {k: best.function})


def _is_same(model: Model, k: int, function: Function, R: np.ndarray) -> bool:
    """Whether the candidate has the edges of the factor it would replace."""
    parents = np.array_equal(np.sort(function.parents), np.sort(model.factors[k].parents))
    return parents and bool((R == model.R).all())
