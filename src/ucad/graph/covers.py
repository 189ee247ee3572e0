"""Smallest covers of Boolean matrices: r-disjunctness and the Boolean rank, by integer programs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from ucad._types import BooleanMatrix, VariablesByFactors

__all__ = ["BooleanRank", "boolean_rank", "disjunctness", "is_disjunct"]

_MAX_RECTANGLES = 20_000
"""Maximal rectangles among which an exact cover is looked for. Each is a variable of an integer
program; a bound on its time that was not tuned."""


def disjunctness(Q: VariablesByFactors) -> int:
    """The largest r for which the columns of Q are r-disjunct, m − 1 if every column has an anchor.

    Columns are r-disjunct if no column is covered by r others; so the answer is the size of the
    smallest cover of any column by the others, minus one. An integer program for every column.

    Definition "r-disjunctedness".

    >>> disjunctness(np.array([[1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0], [0, 1, 1, 1]], dtype=bool))
    1
    """
    n_factors = Q.shape[1]
    largest = n_factors - 1
    for factor in range(n_factors):
        others = np.unique(np.delete(Q, factor, axis=1)[Q[:, factor]], axis=0)
        cover = _smallest_cover(others)
        if cover is not None:
            largest = min(largest, len(cover) - 1)
    return largest


def is_disjunct(Q: VariablesByFactors, r: int) -> bool:
    """Whether the columns of Q are r-disjunct."""
    return disjunctness(Q) >= r


class BooleanRank(NamedTuple):
    """Bounds on the Boolean rank; they agree where it is known."""

    lower: int
    upper: int

    @property
    def is_exact(self) -> bool:
        """Whether the bounds agree."""
        return self.lower == self.upper


def boolean_rank(A: BooleanMatrix, *, max_rectangles: int = _MAX_RECTANGLES) -> BooleanRank:
    """The smallest m with A = Q ⋄ Rᵀ for n × m matrices.

    Exact where A has at most `max_rectangles` maximal rectangles of ones (their smallest cover, an
    integer program; the problem is NP-complete). Otherwise the bounds: below, ones that pairwise
    share no rectangle (a fooling set, greedily); above, the distinct non-null rows and columns.

    >>> boolean_rank(~np.eye(3, dtype=bool))
    BooleanRank(lower=3, upper=3)
    """
    A = _without_repeats(_without_repeats(A).T).T
    if not A.any():
        return BooleanRank(0, 0)
    lower, upper = _fooling_set_size(A), min(A.shape)
    rectangles = _maximal_rectangles(A, max_rectangles)
    if lower == upper or rectangles is None:
        return BooleanRank(lower, upper)
    ones = np.argwhere(A)
    covers = np.array(
        [rows[ones[:, 0]] & columns[ones[:, 1]] for rows, columns in rectangles], dtype=bool
    ).T
    cover = _smallest_cover(covers)
    assert cover is not None, "every one of A lies in a maximal rectangle"
    return BooleanRank(len(cover), len(cover))


def _smallest_cover(covers: BooleanMatrix) -> np.ndarray | None:
    """The fewest columns that together have a one in every row, or None if not even all do."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    if not covers.any(axis=1).all():
        return None
    if len(covers) == 0:
        return np.empty(0, dtype=np.int64)
    solution = milp(
        np.ones(covers.shape[1]),
        constraints=LinearConstraint(covers.astype(float), lb=1),
        integrality=np.ones(covers.shape[1]),
        bounds=Bounds(0, 1),
    )
    return np.flatnonzero(solution.x > 0.5)


def _without_repeats(A: BooleanMatrix) -> Bool[np.ndarray, "distinct columns"]:
    return np.unique(A[A.any(axis=1)], axis=0)


def _fooling_set_size(A: BooleanMatrix) -> int:
    """Greedily collects ones (i, j) such that for any two of them A[i, l] or A[k, j] is zero."""
    chosen: list[tuple[int, int]] = []
    ones = np.argwhere(A)
    crowding = A.sum(axis=1)[ones[:, 0]] + A.sum(axis=0)[ones[:, 1]]
    for i, j in ones[np.argsort(crowding, kind="stable")]:
        if all(not (A[i, column] and A[row, j]) for row, column in chosen):
            chosen.append((int(i), int(j)))
    return len(chosen)


def _maximal_rectangles(
    A: BooleanMatrix, at_most: int
) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """All rectangles of ones that cannot grow (formal concepts), or None if there are too many."""
    column_sets = {row.tobytes() for row in A}
    for row in A:
        column_sets |= {
            (np.frombuffer(columns, dtype=bool) & row).tobytes() for columns in column_sets
        }
        if len(column_sets) > at_most:
            return None
    closed = (np.frombuffer(packed, dtype=bool) for packed in column_sets)
    return [(np.asarray(A[:, columns].all(axis=1)), columns) for columns in closed if columns.any()]
