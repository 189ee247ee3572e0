"""A causal order of the variables, searched by moving one variable at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import BooleanMatrix
from ucad.solvers.budget import Budget
from ucad.solvers.problem import Problem
from ucad.solvers.regression.moments import LocalMoments
from ucad.solvers.regression.score_book import ScoreBook

__all__ = ["OrderSearch", "search_order"]


N_RESTARTS = 2
"""How often a few variables are thrown elsewhere and the search goes on from the best order."""

N_RELOCATED = 8
"""How many variables a restart throws."""


@dataclass(frozen=True, eq=False)
class OrderSearch:
    """Orders of the variables, and what moving one of them changes.

    Attributes:
        book: the scores of variables given their predecessors.
        ancestors: pairs (i, j) whose order is known, a row is a cause.
        budget: how long it may take.
    """

    book: ScoreBook
    ancestors: BooleanMatrix
    budget: Budget

    @property
    def moments(self) -> LocalMoments:
        """The candidates of every variable and their moments."""
        return self.book.moments

    def allowed(self, position: Int[np.ndarray, " variables"]) -> Bool[np.ndarray, "variables k"]:
        """Which candidates precede their target."""
        before: Bool[np.ndarray, "variables k"] = (
            position[self.moments.candidates] < position[:, None]
        )
        return before & self.moments.exists

    def total(self, position: Int[np.ndarray, " variables"]) -> float:
        """The score of an order: the sum over variables."""
        return float(self.book.scores(np.arange(len(position)), self.allowed(position)).sum())

    def best_move(
        self, v: int, position: Int[np.ndarray, " variables"]
    ) -> tuple[float, Int[np.ndarray, " variables"]]:
        """Where v does best while the others keep their order, and what the whole gains.

        Only variables that have v as a candidate notice, each in two ways (v before it or after
        it), and v itself notices only whether its own candidates precede it.
        """
        rest = np.argsort(position, kind="stable")
        rest = rest[rest != v]
        rank = np.empty(len(position), dtype=np.int64)
        rank[rest] = np.arange(len(rest))
        low = rank[self.ancestors[:, v]].max(initial=-1) + 1
        high = rank[self.ancestors[v]].min(initial=len(rest))
        slots = np.arange(low, high + 1)
        value = self._own(v, rank, slots) + self._others(v, rank, slots)
        here = int(np.flatnonzero(slots == np.sum(position[rest] < position[v]))[0])
        best = int(np.argmax(value))
        if value[best] <= value[here] + 1e-6:
            return 0.0, position
        moved = np.insert(rest, slots[best], v)
        new = np.empty_like(position)
        new[moved] = np.arange(len(moved))
        return float(value[best] - value[here]), new

    def _own(
        self, v: int, rank: Int[np.ndarray, " variables"], slots: Int[np.ndarray, " slots"]
    ) -> Float[np.ndarray, " slots"]:
        """Its own score changes only where v passes one of its candidates."""
        ranks = np.where(self.moments.exists[v], rank[self.moments.candidates[v]], len(rank))
        n_before, group = np.unique(np.searchsorted(np.sort(ranks), slots), return_inverse=True)
        allowed = np.argsort(np.argsort(ranks, kind="stable"))[None, :] < n_before[:, None]
        scores = self.book.scores(np.full(len(n_before), v), allowed & self.moments.exists[v])
        return scores[group.reshape(-1)]

    def _others(
        self, v: int, rank: Int[np.ndarray, " variables"], slots: Int[np.ndarray, " slots"]
    ) -> Float[np.ndarray, " slots"]:
        which, place = self.users[v]
        if not len(which):
            return np.zeros(len(slots))
        before = rank[self.moments.candidates[which]] < rank[which][:, None]
        before &= self.moments.exists[which]
        before[np.arange(len(which)), place] = False
        without = self.book.scores(which, before)
        before[np.arange(len(which)), place] = True
        gain = self.book.scores(which, before) - without
        order = np.argsort(rank[which], kind="stable")
        after = np.append(np.cumsum(gain[order][::-1])[::-1], 0.0)
        gains: Float[np.ndarray, " slots"] = after[np.searchsorted(rank[which][order], slots)]
        return gains

    @property
    def everyone(self) -> Bool[np.ndarray, " variables"]:
        """All variables."""
        return np.ones(len(self.moments.gram), dtype=bool)

    def unsettled(
        self,
        before: Int[np.ndarray, " variables"],
        after: Int[np.ndarray, " variables"],
        moved: Int[np.ndarray, " some"],
    ) -> Bool[np.ndarray, " variables"]:
        """The variables whose best place may differ between two orders.

        Those are the ones that moved, their candidates and users; and where a candidate changed
        sides, its user with all candidates. If others than `moved` changed places, it is everyone.
        """
        stayed = np.setdiff1d(np.arange(len(before)), moved)
        if (np.argsort(before[stayed]) != np.argsort(after[stayed])).any():
            return self.everyone
        changed = (self.allowed(before) != self.allowed(after)).any(axis=1)
        changed[moved] = True
        found = changed.copy()
        found[self.moments.candidates[changed][self.moments.exists[changed]]] = True
        for v in moved.tolist():
            found[self.users[v][0]] = True
        return found

    @cached_property
    def users(self) -> list[tuple[Int[np.ndarray, " some"], Int[np.ndarray, " some"]]]:
        """For every variable those that have it as a candidate, and at which place."""
        target, place = np.nonzero(self.moments.exists)
        candidate = self.moments.candidates[target, place]
        order = np.argsort(candidate, kind="stable")
        ends = np.cumsum(np.bincount(candidate, minlength=len(self.moments.gram)))[:-1]
        return list(zip(np.split(target[order], ends), np.split(place[order], ends), strict=True))


def search_order(
    book: ScoreBook,
    ancestors: BooleanMatrix,
    problem: Problem,
    start: Int[np.ndarray, " variables"] | None = None,
) -> Int[np.ndarray, " variables"]:
    """Returns a position for every variable; parents come before children.

    Insertion search from an order that respects the known ancestors: sweeps over the variables
    until no move helps, then restarts from the best order with a few variables thrown elsewhere.
    A sweep costs O(n k) regressions over k candidates, most of them already known.
    """
    rng = np.random.default_rng(problem.seed)
    search = OrderSearch(book, ancestors, problem.budget)
    movable = _related(search)
    first = _initial(search) if start is None else _respecting(start, ancestors)
    best = _climb(search, first, movable, rng, search.everyone.copy())
    best_score = search.total(best)
    for _ in range(N_RESTARTS if len(movable) > 1 else 0):
        thrown = best.astype(np.float64)
        few = rng.choice(movable, min(N_RELOCATED, len(movable)), replace=False)
        thrown[few] = rng.uniform(0, len(best), len(few))
        trial = _respecting(np.argsort(np.argsort(thrown)), ancestors)
        trial = _climb(search, trial, movable, rng, search.unsettled(best, trial, few))
        score = search.total(trial)
        if score > best_score + 1e-6:
            best, best_score = trial, score
    return best


def _climb(
    search: OrderSearch,
    position: Int[np.ndarray, " variables"],
    movable: Int[np.ndarray, " movable"],
    rng: np.random.Generator,
    open_: Bool[np.ndarray, " variables"],
) -> Int[np.ndarray, " variables"]:
    """Sweeps until every movable variable stays where it is; at first only `open_` ones are."""
    settled = 0
    while settled < len(movable):
        for v in rng.permutation(movable):
            gain = 0.0
            if open_[v]:
                search.budget.check()
                gain, moved = search.best_move(int(v), position)
                open_[v] = False
                if gain > 0:
                    open_ |= search.unsettled(position, moved, np.array([v]))
                    position = moved
            settled = 0 if gain > 0 else settled + 1
            if settled >= len(movable):
                break
    return position


def _initial(search: OrderSearch) -> Int[np.ndarray, " variables"]:
    """What is best explained by everything else comes last, as far as known ancestors allow."""
    everything = search.moments.exists
    scores = search.book.scores(np.arange(len(everything)), everything)
    return _respecting(np.argsort(np.argsort(scores, kind="stable")), search.ancestors)


def _respecting(
    position: Int[np.ndarray, " variables"], ancestors: BooleanMatrix
) -> Int[np.ndarray, " variables"]:
    """The order nearest to `position` in which every ancestor precedes its descendants."""
    waiting = ancestors.sum(axis=0)
    rank, ready = np.empty_like(position), np.zeros(len(position), dtype=bool)
    for place in range(len(position)):
        open_ = np.flatnonzero((waiting == 0) & ~ready)
        v = open_[np.argmin(position[open_])]
        rank[v], ready[v] = place, True
        waiting = waiting - ancestors[v]
    return rank


def _related(search: OrderSearch) -> Int[np.ndarray, " movable"]:
    """The variables that predict, or are predicted by, some other."""
    moments = search.moments
    selected = search.book.selected()
    related = np.any(selected, axis=1)
    related[moments.candidates[selected]] = True
    return np.flatnonzero(related)
