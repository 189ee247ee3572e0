"""Choosing the factors among candidate functions, under an order over factors."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.scm.families import Function
from ucad.solvers.budget import Budget
from ucad.solvers.problem import Problem
from ucad.solvers.regression.stepwise import ScoreBook, Selection

__all__ = ["Choice", "Order", "build_choice", "choose_factors", "edges_of", "escape", "promising"]

Order: TypeAlias = tuple[int, ...]

BATCH = 512
"""Ordered choices scored at a time: 512 × 300 variables are 150,000 look-ups."""

ALIKE = 0.95
"""Correlation above which two candidates stand for the same factor."""

N_ALIKE = 3
"""Candidates that stand for the same factor and are all kept: one may be mixed with another."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Chooses m candidates and their order by the score of the whole model.

    score = Σ_j score(x_j | the factors x_j may have) − penalty · Σ_k |parents of k|

    An order over factors is all that acyclicity needs: x_j may be a child of every factor that
    precedes all the factors x_j feeds.

    Attributes:
        functions: the candidates, each of unit variance.
        values: their values, one column each.
        book: the scores of variables given functions of the candidates' values.
        parents: the variables each candidate looks at.
        barred: variables that cannot be children of a candidate, whatever the order.
        rank: the latest layer (or place in a binding order) among a candidate's parents, or None.
        budget: how long it may take.
    """

    functions: tuple[Function, ...]
    values: Float[np.ndarray, "samples candidates"]
    book: ScoreBook
    parents: Bool[np.ndarray, "variables candidates"]
    barred: Bool[np.ndarray, "variables candidates"]
    rank: Int[np.ndarray, " candidates"] | None
    budget: Budget

    @property
    def n_functions(self) -> int:
        """How many functions of a candidate a variable may use."""
        return self.book.width

    @cached_property
    def explainable(self) -> Int[np.ndarray, " some"]:
        """The variables that some candidate helps to predict."""
        found = self.book.select(np.arange(len(self.barred)), ~self.barred)
        return np.flatnonzero(np.any(found.selected, axis=1))

    def allowed(self, order: Order) -> Bool[np.ndarray, "variables candidates"]:
        """Which chosen factors may have which variables as children."""
        may = np.zeros(self.parents.shape, dtype=bool)
        may[:, order] = self._may(np.array([order], dtype=np.int64))[0]
        return may

    def _may(
        self, orders: Int[np.ndarray, "orders factors"]
    ) -> Bool[np.ndarray, "orders variables factors"]:
        """The same for many orders; O(orders · n · m)."""
        m = orders.shape[1]
        feeds, barred = (part.T[orders].transpose(0, 2, 1) for part in (self.parents, self.barred))
        first = np.where(feeds, np.arange(m), m).min(axis=2, initial=m)
        may: Bool[np.ndarray, "orders variables factors"] = np.arange(m) < first[:, :, None]
        return may & ~barred

    def score(self, order: Order) -> float:
        """The score of one ordered choice, up to a constant."""
        return float(self.scores([order])[0])

    def scores(self, orders: Sequence[Order]) -> Float[np.ndarray, " orders"]:
        """The scores of many ordered choices of as many factors, all in one batch."""
        some, chosen = self.explainable, np.array(orders, dtype=np.int64)
        which, few = np.tile(some, len(chosen)), np.repeat(chosen, len(some), axis=0)
        may = self._may(chosen)[:, some].reshape(few.shape)
        each = self.book.scores_among(which, few, may).reshape(len(chosen), -1)
        edges = self.parents.sum(axis=0)[chosen].sum(axis=1)
        total: Float[np.ndarray, " orders"] = each.sum(axis=1) - self.book.penalty * edges
        return total

    def children(self, order: Order) -> Selection:
        """The regressions of all variables on the chosen factors."""
        may = self.allowed(order)
        return self.book.select(np.arange(len(may)), may)

    def insertions(self, order: Order, candidate: int) -> list[Order]:
        """The orders that arise when a candidate is added."""
        if self.rank is None:
            places = list(range(len(order) + 1))
        else:
            ranks = self.rank[list(order)]
            places = [int(np.searchsorted(ranks, self.rank[candidate], side="right"))]
        return [(*order[:at], candidate, *order[at:]) for at in places]

    def best(self, orders: Iterable[Order]) -> tuple[float, Order]:
        """The best of some orders, with its score; the first if several are."""
        best = -np.inf
        chosen: Order = ()
        left = iter(orders)
        while batch := list(itertools.islice(left, BATCH)):
            self.budget.check()
            scores = self.scores(batch)
            at = int(np.argmax(scores))
            if scores[at] > best:
                best, chosen = float(scores[at]), batch[at]
        return best, chosen


def build_choice(functions: Sequence[Function], problem: Problem) -> Choice:
    """Collects the moments of all candidates with all variables.

    Candidates are not blurred: directions are settled by now, and among exact models the number
    of edges alone should count.
    """
    data, known = problem.data, problem.admissible
    values = np.stack([f.values(data.x) for f in functions], axis=1)
    features = problem.variable_family.features(values)
    flat = features.reshape(data.n_samples, -1)
    everything = [np.arange(flat.shape[1])] * data.n_variables
    noise = problem.noise_of(functions)
    moments = problem.moments(flat, everything, noise)
    parents = _parents(functions, data.n_variables)
    rank = None
    if known.position is not None:
        rank = np.where(parents, known.position[:, None], -1).max(axis=0)
    return Choice(
        functions=tuple(functions),
        values=values,
        book=ScoreBook(moments, problem.penalty, width=features.shape[2]),
        parents=parents,
        barred=~known.children_for(parents),
        rank=rank,
        budget=problem.budget,
    )


def promising(functions: Sequence[Function], problem: Problem, n_each: int) -> list[Function]:
    """The candidates that explain some variable best, each alone: so many for each variable.

    Of candidates that are nearly one, those stay that explain most in all.
    """
    data = problem.data
    values = np.stack([function.values(data.x) for function in functions], axis=1)
    gains = problem.explained_nats(values, problem.targets)
    parents = _parents(functions, data.n_variables)
    gains[~problem.admissible.children_for(parents)] = 0.0
    gains = np.maximum(gains - problem.penalty, 0.0)
    best = np.argsort(-gains, axis=1, kind="stable")[:, :n_each]
    useful = np.unique(best[np.take_along_axis(gains, best, axis=1) > 0])
    total = gains.sum(axis=0) - problem.penalty * parents.sum(axis=0)
    alike = np.abs(np.atleast_2d(np.corrcoef(values.T))) > ALIKE
    kept: list[int] = []
    for c in useful[np.argsort(-total[useful], kind="stable")]:
        if alike[c, kept].sum() < N_ALIKE:
            kept.append(int(c))
    return [functions[c] for c in sorted(kept)]


def _parents(
    functions: Sequence[Function], n_variables: int
) -> Bool[np.ndarray, "variables candidates"]:
    parents = np.zeros((n_variables, len(functions)), dtype=bool)
    for c, function in enumerate(functions):
        parents[function.parents, c] = True
    return parents


def choose_factors(choice: Choice, n_factors: int, start: Order = ()) -> Order:
    """Adds the best candidate until there are m, then replaces and reorders while it helps."""
    everything = frozenset(range(len(choice.functions)))
    return _climb(choice, n_factors, start, everything)[1]


def escape(choice: Choice, order: Order) -> Order:
    """Does without each factor in turn, and all that resemble it, and keeps what is better.

    Replacing one factor at a time cannot leave a choice in which one wrong factor forbids
    another right one.
    """
    score = choice.score(order)
    alike = np.abs(np.atleast_2d(np.corrcoef(choice.values.T))) > ALIKE
    best, chosen = score, order
    for current in order:
        allowed = frozenset(np.flatnonzero(~alike[current]).tolist()) | (set(order) - {current})
        rest = tuple(c for c in order if c != current)
        better, changed = _climb(choice, len(order), rest, allowed)
        if better > best + 1e-6:
            best, chosen = better, changed
    return chosen


def edges_of(choice: Choice, order: Order) -> frozenset[bytes]:
    """The graph of a choice, whatever the order of its factors."""
    selected = choice.children(order).selected
    made = np.any(selected.reshape(len(selected), -1, choice.n_functions), axis=2)
    both = np.concatenate([choice.parents[:, order], made[:, list(order)]])
    return frozenset(column.tobytes() for column in both.T)


def _climb(
    choice: Choice, n_factors: int, order: Order, allowed: frozenset[int]
) -> tuple[float, Order]:
    while len(order) < min(n_factors, len(allowed)):
        free = sorted(allowed - set(order))
        _, order = choice.best(o for c in free for o in choice.insertions(order, c))
    score = choice.score(order)
    while True:
        better, changed = choice.best([order, *_neighbours(choice, order, allowed)])
        if better <= score + 1e-6:
            return score, order
        score, order = better, changed


def _neighbours(choice: Choice, order: Order, allowed: frozenset[int]) -> Iterable[Order]:
    """One factor moved, or replaced by a candidate that is not used."""
    unused = sorted(allowed - set(order))
    for slot, current in enumerate(order):
        rest = order[:slot] + order[slot + 1 :]
        for c in (current, *unused):
            yield from choice.insertions(rest, c)
