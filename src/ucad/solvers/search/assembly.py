"""Choosing the factors among candidate functions, under an order over factors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import BooleanMatrix
from ucad.solvers.search.regression import ScoreBook

__all__ = ["Assembly", "Candidates", "assemble"]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Functions of the variables that may be factors.

    Attributes:
        values: one column a candidate, at unit root-mean-square gradient, so that blurring every
            variable by s₀ blurs every candidate by s₀.
        parents: the variables each candidate is a function of.
        rank: how late a candidate comes in a known causal order, or None if no order is known.
        barred: variables that cannot be children of a candidate, whatever the order.
    """

    values: Float[np.ndarray, "samples candidates"]
    parents: Bool[np.ndarray, "variables candidates"]
    rank: Float[np.ndarray, " candidates"] | None
    barred: Bool[np.ndarray, "variables candidates"]


@dataclass(frozen=True, eq=False)
class Assembly:
    """Chooses m candidates and their order by the score of the whole model.

    score = Σ_j score(x_j | the factors x_j may have) − penalty · Σ_k |parents of k|

    An order over factors is all that acyclicity needs: x_j may be a child of every factor that
    precedes all the factors x_j feeds.

    Attributes:
        book: the scores of variables given candidates.
        candidates: what to choose from.
    """

    book: ScoreBook
    candidates: Candidates

    def allowed(self, order: tuple[int, ...]) -> Bool[np.ndarray, "variables candidates"]:
        """Which chosen factors may have which variables as children."""
        feeds = self.candidates.parents[:, order]
        place = np.arange(len(order))
        first = np.where(feeds, place, len(order)).min(axis=1, initial=len(order))
        may = np.zeros(self.candidates.parents.shape, dtype=bool)
        may[:, order] = place[None, :] < first[:, None]
        return may & ~self.candidates.barred

    def score(self, order: tuple[int, ...]) -> float:
        """The score of one ordered choice."""
        may = self.allowed(order)
        children = self.book.scores(np.arange(len(may)), may).sum()
        return float(children - self.book.penalty * self.candidates.parents[:, order].sum())

    def insertions(self, order: tuple[int, ...], candidate: int) -> Iterable[tuple[int, ...]]:
        """The orders that arise when a candidate is added."""
        rank = self.candidates.rank
        if rank is None:
            places: Iterable[int] = range(len(order) + 1)
        else:
            places = [int(np.searchsorted(rank[list(order)], rank[candidate], side="right"))]
        return [(*order[:at], candidate, *order[at:]) for at in places]

    def best(self, orders: Iterable[tuple[int, ...]]) -> tuple[float, tuple[int, ...]]:
        """The best of some orders, with its score; the first if several are."""
        return max(((self.score(order), order) for order in orders), key=lambda pair: pair[0])


def assemble(assembly: Assembly, n_factors: int) -> tuple[int, ...]:
    """Adds the best candidate m times, then replaces and reorders while the score rises."""
    n_candidates = assembly.candidates.values.shape[1]
    order: tuple[int, ...] = ()
    for _ in range(min(n_factors, n_candidates)):
        free = [c for c in range(n_candidates) if c not in order]
        _, order = assembly.best(o for c in free for o in assembly.insertions(order, c))
    score = assembly.score(order)
    while True:
        better, changed = assembly.best([order, *_neighbours(assembly, order)])
        if better <= score + 1e-6:
            return order
        score, order = better, changed


def _neighbours(assembly: Assembly, order: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    """One factor moved, or replaced by a candidate that is not used."""
    n_candidates = assembly.candidates.values.shape[1]
    for slot, current in enumerate(order):
        rest = order[:slot] + order[slot + 1 :]
        for c in (current, *(c for c in range(n_candidates) if c not in order)):
            yield from assembly.insertions(rest, c)


def dependent_pairs(A: BooleanMatrix) -> Int[np.ndarray, "pairs two"]:
    """The pairs (cause, effect) of an adjacency matrix."""
    return np.argwhere(A)
