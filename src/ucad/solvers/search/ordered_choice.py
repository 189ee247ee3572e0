"""Ordered choices of candidate factors: what each scores, and all ways to add one candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.scm.families import Function
from ucad.solvers.budget import Budget
from ucad.solvers.regression.fitting import COMPARED
from ucad.solvers.regression.stepwise import Selection
from ucad.solvers.regression.trees import GrowShrinkTrees

__all__ = ["Choice", "Insertions", "Order", "alike"]

Order: TypeAlias = tuple[int, ...]

Rests = Int[np.ndarray, "rests others"]

ALIKE = 0.95
"""Correlation above which two candidates stand for the same factor."""


@dataclass(frozen=True, eq=False)
class Insertions:
    """The scores of orders that arise when one candidate is put into others.

    Attributes:
        rests: the orders without it.
        scores: for each of them, each candidate and each place; −∞ where it cannot be.
    """

    rests: Rests
    scores: Float[np.ndarray, "rests candidates places"]

    def best(self, equal: float) -> tuple[float, tuple[int, ...]]:
        """The best order, with its score; the first of those that are nearly equal."""
        flat = self.scores.reshape(-1)
        first = int(np.argmax(flat >= flat.max() - equal))
        r, c, place = np.unravel_index(first, self.scores.shape)
        rest = self.rests[r].tolist()
        return float(flat[first]), (*rest[:place], int(c), *rest[place:])


@dataclass(frozen=True, eq=False)
class Choice:
    """Chooses m candidates and their order by the score of the whole model.

    score = Σ_j score(x_j | the factors x_j may have) − penalty · Σ_k |parents of k|

    An order over factors is all that acyclicity needs: x_j may be a child of every factor that
    precedes all the factors x_j feeds.

    Attributes:
        functions: the candidates, each of unit variance.
        values: their values, one column each.
        trees: the regressions of variables on functions of the candidates' values.
        parents: the variables each candidate looks at.
        barred: variables that cannot be children of a candidate, whatever the order.
        rank: the latest layer (or place in a binding order) among a candidate's parents, or None.
        budget: how long it may take.
    """

    functions: tuple[Function, ...]
    values: Float[np.ndarray, "samples candidates"]
    trees: GrowShrinkTrees
    parents: Bool[np.ndarray, "variables candidates"]
    barred: Bool[np.ndarray, "variables candidates"]
    rank: Int[np.ndarray, " candidates"] | None
    budget: Budget

    @property
    def n_functions(self) -> int:
        """How many functions of a candidate a variable may use."""
        return self.trees.width

    @cached_property
    def explainable(self) -> Int[np.ndarray, " some"]:
        """The variables that some candidate helps to predict."""
        worth = self.trees.first_choices().reshape(*self.barred.shape, -1).any(axis=2)
        return np.flatnonzero((worth & ~self.barred).any(axis=1))

    @cached_property
    def alike(self) -> Bool[np.ndarray, "candidates candidates"]:
        """Which candidates stand for the same factor."""
        return alike(self.values)

    def allowed(self, order: Order) -> Bool[np.ndarray, "variables candidates"]:
        """Which chosen factors may have which variables as children."""
        may, m = np.zeros(self.parents.shape, dtype=bool), len(order)
        feeds = self.parents[:, order]
        first = np.where(feeds, np.arange(m), m).min(axis=1, initial=m)
        may[:, order] = (np.arange(m) < first[:, None]) & ~self.barred[:, order]
        return may

    def score(self, order: Order) -> float:
        """The score of one ordered choice, up to a constant."""
        some = self.explainable
        each = self.trees.scores(some, self.allowed(order)[some])
        return float(each.sum() - self.trees.penalty * self.parents[:, order].sum())

    def children(self, order: Order) -> Selection:
        """The regressions of all variables on the chosen factors."""
        may = self.allowed(order)
        return self.trees.select(np.arange(len(may)), may)

    def made(self, children: Selection) -> Bool[np.ndarray, "variables candidates"]:
        """Which candidates the variables are functions of."""
        return np.any(children.selected.reshape(*self.parents.shape, -1), axis=2)

    def insertions(self, rests: Sequence[Order], pool: frozenset[int]) -> Insertions:
        """The scores of all ways to add one candidate of the pool to each of some orders."""
        self.budget.check()
        return _insertions(self, np.array(rests, dtype=np.int64).reshape(len(rests), -1), pool)


def alike(
    values: Float[np.ndarray, "samples candidates"],
) -> Bool[np.ndarray, "candidates candidates"]:
    """Which columns stand for the same factor, in a regular subset of very many samples."""
    some = values[:: max(1, len(values) // COMPARED)]
    return np.asarray(np.abs(np.atleast_2d(np.corrcoef(some.T))) > ALIKE)


def _insertions(choice: Choice, rests: Rests, pool: frozenset[int]) -> Insertions:
    """Scores every candidate of the pool at every place of every order.

    A variable that does not feed the new candidate notices it only if the candidate precedes all
    that the variable feeds, and only if the walk of its tree has passed the candidate by: then its
    score is looked up with the candidate. A variable that feeds it keeps the factors before it,
    which depends on the place alone. So the places of a candidate cost no more than one.
    """
    some, trees = choice.explainable, choice.trees
    base = _Base.of(choice, rests, some)
    n_rests, n_places, n_candidates = len(rests), rests.shape[1] + 1, choice.parents.shape[1]
    free = np.zeros((n_rests, n_candidates), dtype=bool)
    free[:, sorted(pool)] = True
    np.put_along_axis(free, rests, False, axis=1)

    at, c = np.unique(base.passed // (1, trees.width), axis=0).T
    r, j = np.divmod(at, len(some))
    new = free[r, c] & ~choice.barred[some[j], c] & ~choice.parents[some[j], c]
    at, c, r, j = at[new], c[new], r[new], j[new]
    wider = base.may[at]
    wider[np.arange(len(at)), c] = True
    gain = trees.scores(some[j], wider) - base.scores[at]
    # A gain counts at all places up to the first factor that the variable feeds.
    key = (r * n_candidates + c) * n_places + base.first[at]
    size = n_rests * n_candidates * n_places
    gains = np.bincount(key, weights=gain, minlength=size)
    gains = gains.reshape(n_rests, n_candidates, n_places)[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]

    scores = gains + base.scores.reshape(n_rests, -1).sum(axis=1)[:, None, None]
    scores = scores - base.truncation_losses(choice, rests, some)
    n_parents = choice.parents.sum(axis=0)
    edges = n_parents[rests].sum(axis=1)[:, None] + n_parents
    scores -= trees.penalty * edges[:, :, None]
    scores[~(free[:, :, None] & _places(choice, rests))] = -np.inf
    return Insertions(rests, scores)


@dataclass(frozen=True, eq=False)
class _Base:
    """Every variable under every order without the new candidate, order by order.

    Attributes:
        may: the candidates that a variable may be a child of.
        first: the place of the first factor that it feeds; the number of factors if there is none.
        scores: what it scores with those candidates.
        passed: pairs (row, feature) that would change its score if they were allowed.
    """

    may: Bool[np.ndarray, "rows candidates"]
    first: Int[np.ndarray, " rows"]
    scores: Float[np.ndarray, " rows"]
    passed: Int[np.ndarray, "pairs two"]

    @classmethod
    def of(cls, choice: Choice, rests: Rests, some: Int[np.ndarray, " variables"]) -> _Base:
        n_rests, m = rests.shape
        feeds, barred = (
            part[some].T[rests].transpose(0, 2, 1) for part in (choice.parents, choice.barred)
        )
        first = np.where(feeds, np.arange(m), m).min(axis=2, initial=m).reshape(-1)
        before = (np.arange(m) < first[:, None]) & ~barred.reshape(len(first), m)
        may = np.zeros((len(first), choice.parents.shape[1]), dtype=bool)
        np.put_along_axis(may, np.repeat(rests, len(some), axis=0), before, axis=1)
        walk = choice.trees.walk(np.tile(some, n_rests), may, trace=True)
        return cls(may, first, choice.trees.score_of(walk.nodes), walk.passed)

    def truncation_losses(
        self, choice: Choice, rests: Rests, some: Int[np.ndarray, " variables"]
    ) -> Float[np.ndarray, "rests candidates places"]:
        """What the variables that feed a candidate lose if it stands at each place."""
        n_rests, m = rests.shape
        alone = choice.trees.score_of(some)
        does = choice.parents[some].any(axis=1)
        rows = np.flatnonzero(np.tile(does, n_rests) & (self.scores != np.tile(alone, n_rests)))
        losses = np.zeros((n_rests, len(some), m + 1))
        r, j = np.divmod(rows, len(some))
        for place in range(m):
            cut = np.flatnonzero(place < self.first[rows])
            may = self.may[rows[cut]]
            np.put_along_axis(may, rests[r[cut], place:], False, axis=1)
            shorter = choice.trees.scores(some[j[cut]], may)
            losses[r[cut], j[cut], place] = self.scores[rows[cut]] - shorter
        fed = np.flatnonzero(does)
        feeds = choice.parents[some[fed]].T.astype(np.float64)
        total: Float[np.ndarray, "rests candidates places"] = feeds @ losses[:, fed]
        return total


def _places(choice: Choice, rests: Rests) -> Bool[np.ndarray, "rests candidates places"]:
    """Where a candidate may stand: anywhere, or after all of its own layer or before."""
    n_places = rests.shape[1] + 1
    if choice.rank is None:
        return np.ones((len(rests), choice.parents.shape[1], n_places), dtype=bool)
    place = (choice.rank[rests][:, None, :] <= choice.rank[None, :, None]).sum(axis=2)
    return np.arange(n_places) == place[:, :, None]
