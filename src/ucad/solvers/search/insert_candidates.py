"""All ways to put one more candidate into an order of factors, scored together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.solvers.regression.trees import GrowShrinkTrees

__all__ = ["Insertions", "insertions_into"]

Rests = Int[np.ndarray, "rests others"]


@runtime_checkable
class Candidates(Protocol):
    """What is known of candidate factors: a `Choice`."""

    @property
    def trees(self) -> GrowShrinkTrees:
        """The regressions of variables on candidates."""
        ...

    @property
    def parents(self) -> Bool[np.ndarray, "variables candidates"]:
        """The variables each candidate looks at."""
        ...

    @property
    def barred(self) -> Bool[np.ndarray, "variables candidates"]:
        """Variables that cannot be children of a candidate."""
        ...

    @property
    def rank(self) -> Int[np.ndarray, " candidates"] | None:
        """The latest layer among a candidate's parents."""
        ...

    @property
    def explainable(self) -> Int[np.ndarray, " some"]:
        """The variables that some candidate helps to predict."""
        ...


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


def insertions_into(choice: Candidates, rests: Rests, pool: frozenset[int]) -> Insertions:
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
    def of(cls, choice: Candidates, rests: Rests, some: Int[np.ndarray, " variables"]) -> _Base:
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
        self, choice: Candidates, rests: Rests, some: Int[np.ndarray, " variables"]
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


def _places(choice: Candidates, rests: Rests) -> Bool[np.ndarray, "rests candidates places"]:
    """Where a candidate may stand: anywhere, or after all of its own layer or before."""
    n_places = rests.shape[1] + 1
    if choice.rank is None:
        return np.ones((len(rests), choice.parents.shape[1], n_places), dtype=bool)
    place = (choice.rank[rests][:, None, :] <= choice.rank[None, :, None]).sum(axis=2)
    return np.arange(n_places) == place[:, :, None]
