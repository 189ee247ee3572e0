"""Choosing the factors among candidate functions, under an order over factors."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.data import InterventionalData
from ucad.solvers.search.causes import Causes
from ucad.solvers.search.functions import Function
from ucad.solvers.search.moments import additive_features, explained_nats, local_moments
from ucad.solvers.search.regression import ScoreBook, Selection
from ucad.solvers.search.settings import FitSettings

__all__ = [
    "Assembly",
    "Order",
    "assemble",
    "build_assembly",
    "edges_of",
    "escape",
    "promising",
]

Order: TypeAlias = tuple[int, ...]

BATCH = 512
ALIKE = 0.95


@dataclass(frozen=True, eq=False)
class Assembly:
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
        rank: how late a candidate comes in a known causal order, or None if no order is known.
    """

    functions: tuple[Function, ...]
    values: Float[np.ndarray, "samples candidates"]
    book: ScoreBook
    parents: Bool[np.ndarray, "variables candidates"]
    barred: Bool[np.ndarray, "variables candidates"]
    rank: Int[np.ndarray, " candidates"] | None

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
            scores = self.scores(batch)
            at = int(np.argmax(scores))
            if scores[at] > best:
                best, chosen = float(scores[at]), batch[at]
        return best, chosen


def build_assembly(
    functions: Sequence[Function],
    data: InterventionalData,
    causes: Causes,
    settings: FitSettings,
) -> Assembly:
    """Collects the moments of all candidates with all variables.

    Candidates are not blurred: directions are settled by now, and among exact models the number
    of edges alone should count.
    """
    x = data.x
    n_variables, n_candidates = data.n_variables, len(functions)
    values = np.stack([f.values(x) for f in functions], axis=1)
    features = additive_features(values, settings.variable_fit.hidden > 0)
    flat = features.reshape(len(x), -1)
    everything = [np.arange(flat.shape[1])] * n_variables
    moments = local_moments(flat, x, data.is_intervened, everything, settings.floor)
    parents = np.zeros((n_variables, n_candidates), dtype=bool)
    for c, function in enumerate(functions):
        parents[function.parents, c] = True
    return Assembly(
        functions=tuple(functions),
        values=values,
        book=ScoreBook(moments, settings.penalty, width=features.shape[2]),
        parents=parents,
        barred=causes.no_children(parents),
        rank=None if causes.position is None else causes.rank(parents),
    )


def promising(
    functions: Sequence[Function],
    data: InterventionalData,
    causes: Causes,
    settings: FitSettings,
    n_each: int,
) -> list[Function]:
    """The candidates that explain some variable best, each alone: so many for each variable."""
    values = np.stack([function.values(data.x) for function in functions], axis=1)
    nonlinear = settings.variable_fit.hidden > 0
    gains = explained_nats(values, data.x, data.is_intervened, nonlinear)
    parents = np.zeros(gains.shape, dtype=bool)
    for c, function in enumerate(functions):
        parents[function.parents, c] = True
    gains[causes.no_children(parents)] = 0.0
    best = np.argsort(-gains, axis=1, kind="stable")[:, :n_each]
    useful = np.take_along_axis(gains, best, axis=1) > settings.penalty
    return [functions[c] for c in np.unique(best[useful])]


def assemble(assembly: Assembly, n_factors: int, start: Order = ()) -> Order:
    """Adds the best candidate until there are m, then replaces and reorders while it helps."""
    everything = frozenset(range(len(assembly.functions)))
    return _climb(assembly, n_factors, start, everything)[1]


def escape(assembly: Assembly, order: Order) -> Order:
    """Does without each factor in turn, and all that resemble it, and keeps what is better.

    Replacing one factor at a time cannot leave a choice in which one wrong factor forbids
    another right one.
    """
    score = assembly.score(order)
    alike = np.abs(np.atleast_2d(np.corrcoef(assembly.values.T))) > ALIKE
    best, chosen = score, order
    for current in order:
        allowed = frozenset(np.flatnonzero(~alike[current]).tolist()) | (set(order) - {current})
        rest = tuple(c for c in order if c != current)
        better, changed = _climb(assembly, len(order), rest, allowed)
        if better > best + 1e-6:
            best, chosen = better, changed
    return chosen


def edges_of(assembly: Assembly, order: Order) -> frozenset[bytes]:
    """The graph of a choice, whatever the order of its factors."""
    selected = assembly.children(order).selected
    made = np.any(selected.reshape(len(selected), -1, assembly.n_functions), axis=2)
    both = np.concatenate([assembly.parents[:, order], made[:, list(order)]])
    return frozenset(column.tobytes() for column in both.T)


def _climb(
    assembly: Assembly, n_factors: int, order: Order, allowed: frozenset[int]
) -> tuple[float, Order]:
    while len(order) < min(n_factors, len(allowed)):
        free = sorted(allowed - set(order))
        _, order = assembly.best(o for c in free for o in assembly.insertions(order, c))
    score = assembly.score(order)
    while True:
        better, changed = assembly.best([order, *_neighbours(assembly, order, allowed)])
        if better <= score + 1e-6:
            return score, order
        score, order = better, changed


def _neighbours(assembly: Assembly, order: Order, allowed: frozenset[int]) -> Iterable[Order]:
    """One factor moved, or replaced by a candidate that is not used."""
    unused = sorted(allowed - set(order))
    for slot, current in enumerate(order):
        rest = order[:slot] + order[slot + 1 :]
        for c in (current, *unused):
            yield from assembly.insertions(rest, c)
