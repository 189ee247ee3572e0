"""Taking one factor out of another that contains it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ucad.graph import boolean_product
from ucad.scm.families import Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import Regression
from ucad.solvers.regression.parent_selection import score_test
from ucad.solvers.search.model import Edit, Model
from ucad.solvers.search.remainder import own_parents, remainder

__all__ = ["SeparateFactors"]

MAX_LEFT = 0.1
"""Share of z_k's variance that may be left by h + c z_l for the two to count as mixed."""

MAX_BACK = 2
"""Shared parents that may come back into h."""

N_TRIED = 4
"""Shared parents of which each is tried, the likeliest by a score test."""


@dataclass(frozen=True)
class SeparateFactors:
    """Takes z_l out of z_k where they share parents, and gives the children of k to l as well.

    An anchor that really has two factors gives z_k + c z_l in place of z_k, and the children of k
    make up for it; its parents are those of both, or children of l in place of l's parents.
    """

    name: str = "separate factors"

    def propose(self, problem: Problem, model: Model, only: Collection[int]) -> Iterator[Edit]:
        """Edits of pairs of which one is among the given factors."""
        for k, other, own in _entangled(model):
            if k in only:
                for function in _without(problem, model, k, other, own):
                    Q, R = model.Q, model.R.copy()
                    R[:, other] |= R[:, k] & ~Q[:, other]
                    yield Edit(R, {k: function})


def _without(
    problem: Problem, model: Model, k: int, other: int, own: Int[np.ndarray, " some"]
) -> Iterator[Function]:
    """What z_k may be besides a multiple of z_l; nothing if z_k is not such a sum.

    Of the parents that have to do with z_l, those come back without which much is left of z_k;
    where factors are linear also parents of l that z_k does not have: the sum may cancel them.
    """
    mixed, taken = model.state[:, k], model.state[:, other]
    shared = model.Q[:, k] & ~np.isin(np.arange(len(model.Q)), own)
    if problem.factor_family.is_affine:
        shared = shared | model.Q[:, other]
    back = np.flatnonzero(shared)
    function = remainder(problem, mixed, taken, own)
    left = _left(problem, mixed, taken, function)
    for _ in range(min(MAX_BACK, len(back) - 1)):
        if left < problem.floor:
            break
        likely = _likeliest(problem, mixed, taken, function, back)
        wider = [remainder(problem, mixed, taken, np.union1d(own, [i]), function) for i in likely]
        each = np.array([_left(problem, mixed, taken, trial) for trial in wider])
        if (each < problem.floor).any():
            yield from (wider[at] for at in np.flatnonzero(each < problem.floor))
            return
        best = int(np.argmin(each))
        odds = np.log((left + problem.floor) / (each[best] + problem.floor))
        if len(mixed) / 2 * odds < problem.penalty:
            break
        function, left = wider[best], float(each[best])
        own, back = function.parents, back[back != likely[best]]
    if left < MAX_LEFT:
        yield function


def _likeliest(
    problem: Problem,
    mixed: Float[np.ndarray, " samples"],
    other: Float[np.ndarray, " samples"],
    function: Function,
    back: Int[np.ndarray, " shared"],
) -> Int[np.ndarray, " some"]:
    """The parents that a score test finds missing most: to fit a function with each is dear."""
    if len(back) <= N_TRIED:
        return back
    values = function.values(problem.data.x)
    design = np.column_stack([values, other, np.ones(len(other))])
    scale, share, level = np.linalg.lstsq(design, mixed, rcond=None)[0].tolist()
    missed = Regression(mixed - share * other, np.ones(len(mixed)))
    fitted = function.affine(scale, level)
    fitter = problem.fitter(problem.factor_family)
    gains = score_test(problem.data.x, fitted, missed, back, fitter)
    return np.sort(back[np.argsort(-gains, kind="stable")[:N_TRIED]])


def _left(
    problem: Problem,
    mixed: Float[np.ndarray, " samples"],
    other: Float[np.ndarray, " samples"],
    function: Function,
) -> float:
    """The share of z_k that no sum of a function and z_l explains."""
    design = np.column_stack([function.values(problem.data.x), other, np.ones(len(other))])
    rest = mixed - design @ np.linalg.lstsq(design, mixed, rcond=None)[0]
    return float(rest.var() / max(float(mixed.var()), 1e-12))


def _entangled(model: Model) -> Iterator[tuple[int, int, Int[np.ndarray, " some"]]]:
    """Pairs (k, l) with a parent of k that is a parent or a child of l, and those that are not."""
    Q, R = model.Q, model.R
    for k, other in np.argwhere(boolean_product(Q.T, Q | R)):
        if k != other and Q[:, other].any():
            for own in own_parents(Q[:, k], Q[:, other], R[:, other]):
                yield int(k), int(other), own
