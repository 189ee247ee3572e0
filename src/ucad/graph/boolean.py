"""Boolean matrices: the product ⋄, minimal rows, anchors, and Q and R read back from A."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from jaxtyping import Bool, Int

from ucad._types import BooleanMatrix, VariablesByFactors
from ucad.errors import FactorisationError
from ucad.graph.covers import disjunctness

__all__ = [
    "AnchorCondition",
    "Factorisation",
    "boolean_product",
    "factorise",
    "has_anchors",
    "in_anchors",
    "is_contained_in",
    "minimal_columns",
    "minimal_rows",
    "out_anchors",
    "row_sparsity",
    "transitive_closure",
]


def boolean_product(
    left: Bool[np.ndarray, "rows terms"], right: Bool[np.ndarray, "terms columns"]
) -> BooleanMatrix:
    """The Boolean product (left ⋄ right)[i, j] = ⋁_k left[i, k] ∧ right[k, j].

    The variable adjacency of the paper is `boolean_product(Q, R.T)`. Counted by a matrix product
    in float32, which is exact below 2²⁴ terms: O(rows · terms · columns).

    >>> boolean_product(np.array([[True, False]]), np.array([[True, False], [False, True]]))
    array([[ True, False]])
    """
    return left.astype(np.float32) @ right.astype(np.float32) > 0


def is_contained_in(
    rows: Bool[np.ndarray, "rows columns"], others: Bool[np.ndarray, "others columns"]
) -> Bool[np.ndarray, "rows others"]:
    """Entry [h, i] says whether `rows[h]` ≤ `others[i]`, that is |h ∧ i| = |h|.

    >>> is_contained_in(np.array([[True, False]]), np.array([[True, True], [False, True]]))
    array([[ True, False]])
    """
    shared = rows.astype(np.float32) @ others.T.astype(np.float32)
    return shared == rows.sum(axis=1, dtype=np.float32)[:, None]


def minimal_rows(A: BooleanMatrix) -> Int[np.ndarray, " minimal"]:
    """The rows of A that are not null and have no other non-null row strictly inside them.

    Definition "Minimality". Equal rows are compared once, so the cost is O(u² · columns) for u
    distinct rows.

    >>> minimal_rows(np.array([[True, True], [True, False], [False, False]]))
    array([1])
    """
    distinct, which = np.unique(np.packbits(A, axis=1), axis=0, return_inverse=True)
    rows = np.unpackbits(distinct, axis=1, count=A.shape[1]).astype(bool)
    filled = np.asarray(rows.any(axis=1))
    inside = is_contained_in(rows, rows) & filled[:, None]
    np.fill_diagonal(inside, val=False)
    minimal = filled & ~np.asarray(inside.any(axis=0))
    return np.flatnonzero(minimal[which.reshape(-1)])


def minimal_columns(A: BooleanMatrix) -> Int[np.ndarray, " minimal"]:
    """The columns of A that are minimal rows of its transpose."""
    return minimal_rows(A.T)


def in_anchors(Q: VariablesByFactors) -> VariablesByFactors:
    """Entry [i, k] says whether variable i is an in-anchor of k: its only child in G is factor k.

    >>> in_anchors(np.array([[True, False], [True, True]]))
    array([[ True, False],
           [False, False]])
    """
    return Q & (Q.sum(axis=1, keepdims=True) == 1)


def out_anchors(R: VariablesByFactors) -> VariablesByFactors:
    """Entry [j, k] says whether variable j is an out-anchor of k: its only parent is factor k."""
    return in_anchors(R)


def has_anchors(Q: VariablesByFactors, R: VariablesByFactors) -> bool:
    """The anchor assumption: every factor has at least one in-anchor and one out-anchor."""
    return bool(in_anchors(Q).any(axis=0).all() and out_anchors(R).any(axis=0).all())


def transitive_closure(adjacency: BooleanMatrix) -> BooleanMatrix:
    """Adds an edge for every path, by squaring: one matrix product per step.

    O(n k² log n) for k nodes that have edges in and out: only through those are there paths.

    >>> transitive_closure(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)).astype(int)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    closed = adjacency.copy()
    while True:
        between = np.flatnonzero(closed.any(axis=0) & closed.any(axis=1))
        rows = np.flatnonzero(closed[:, between].any(axis=1))
        columns = np.flatnonzero(closed[between].any(axis=0))
        at = np.ix_(rows, columns)
        through = boolean_product(closed[np.ix_(rows, between)], closed[np.ix_(between, columns)])
        if (through <= closed[at]).all():
            return closed
        closed[at] |= through


def row_sparsity(Q: VariablesByFactors) -> int:
    """s(Q) = max_i Σ_k Q[i, k], the largest number of factors that one variable touches."""
    return int(Q.sum(axis=1).max(initial=0))


@dataclass(frozen=True)
class Factorisation:
    """A pair (Q, R) with A = Q ⋄ Rᵀ and the statement of the paper by which it was read from A."""

    Q: Bool[np.ndarray, "rows factors"]
    R: Bool[np.ndarray, "columns factors"]
    statement: str


class AnchorCondition(Enum):
    """Under which of the paper's conditions Q and R are read from A."""

    BOTH = "both"
    IN = "in"
    OUT = "out"


def factorise(A: BooleanMatrix, condition: AnchorCondition = AnchorCondition.BOTH) -> Factorisation:
    """Reads Q and R from A = Q ⋄ Rᵀ.

    With both kinds of anchors, minimal rows of A are the rows of Rᵀ, minimal columns the columns
    of Q, and minimal row k meets minimal column l in a one exactly where k = l. Then (Q, R) is
    unique (Theorem "Identifiability of (Q,R)").

    With in-anchors alone, the minimal rows still give R, and Q[i, k] = 1 ⟺ R[:, k] ≤ A[i, :],
    provided the columns of R are r-disjunct for some r ≥ s(Q) (Lemma "Reading Q,R from A"); with
    out-anchors alone the same on Aᵀ. Nothing says that the two readings agree: 1 − I₃ has both.

    Factors come in the order of their first in-anchor (out-anchor).

    Raises:
        FactorisationError: A contradicts the condition; the message names an entry of A.
    """
    match condition:
        case AnchorCondition.BOTH:
            return _by_both_anchors(A)
        case AnchorCondition.IN:
            return Factorisation(*_by_in_anchors(A), _LEMMA.format("in"))
        case AnchorCondition.OUT:
            R, Q = _by_in_anchors(A.T)
            return Factorisation(Q, R, _LEMMA.format("out"))


_LEMMA = 'Lemma "Reading Q,R from A" ({}-anchors, r-disjunct columns)'


def _by_both_anchors(A: BooleanMatrix) -> Factorisation:
    rows, columns = _first_of_each(A, minimal_rows(A)), _first_of_each(A.T, minimal_columns(A))
    meets = A[np.ix_(rows, columns)]
    _check_permutation(meets, rows, columns)
    partner = columns[meets.argmax(axis=1)] if len(rows) else columns
    Q, R = A[:, partner], A[rows].T
    difference = boolean_product(Q, R.T) != A
    if difference.any():
        i, j = np.argwhere(difference)[0]
        raise FactorisationError(
            f"A is not Q ⋄ Rᵀ for factors with an in-anchor and an out-anchor: A[{i}, {j}] is "
            f"{int(A[i, j])}, but the anchors read from A imply {int(not A[i, j])}."
        )
    return Factorisation(Q, R, 'Theorem "Identifiability of (Q,R)"')


def _check_permutation(
    meets: BooleanMatrix, rows: Int[np.ndarray, " r"], columns: Int[np.ndarray, " c"]
) -> None:
    """Refuses minimal rows and columns that do not meet pairwise, naming an entry of A."""
    for axis, (lines, kind, other) in enumerate(
        [(meets, "row", "column"), (meets.T, "column", "row")]
    ):
        wrong = np.flatnonzero(lines.sum(axis=1) != 1)
        if len(wrong) == 0:
            continue
        line = wrong[0]
        here, there = (rows, columns) if axis == 0 else (columns, rows)
        ones = there[np.flatnonzero(lines[line])]
        if len(ones) == 0:
            raise FactorisationError(
                f"A is not Q ⋄ Rᵀ for factors with an in-anchor and an out-anchor: minimal {kind} "
                f"{here[line]} of A has no one in any minimal {other}."
            )
        i, j = (here[line], ones[1]) if axis == 0 else (ones[1], here[line])
        raise FactorisationError(
            f"A is not Q ⋄ Rᵀ for factors with an in-anchor and an out-anchor: A[{i}, {j}] is 1, "
            f"but minimal {kind} {here[line]} already meets minimal {other} {ones[0]}, and an "
            f"anchor belongs to one factor."
        )


def _by_in_anchors(
    A: BooleanMatrix,
) -> tuple[Bool[np.ndarray, "rows factors"], Bool[np.ndarray, "columns factors"]]:
    R = A[_first_of_each(A, minimal_rows(A))].T
    Q = is_contained_in(R.T, A).T & A.any(axis=1, keepdims=True)
    difference = boolean_product(Q, R.T) != A
    if difference.any():
        i, j = np.argwhere(difference)[0]
        raise FactorisationError(
            f"A is not made of its minimal rows: A[{i}, {j}] is 1, and no minimal row inside "
            f"row {i} has a one there."
        )
    r, needed = disjunctness(R), row_sparsity(Q)
    if r < needed:
        raise FactorisationError(
            f"The factors read from the anchors are {r}-disjunct, but a variable belongs to "
            f"{needed} of them: which ones cannot be read from A."
        )
    return Q, R


def _first_of_each(A: BooleanMatrix, rows: Int[np.ndarray, " some"]) -> Int[np.ndarray, " fewer"]:
    """Keeps the first of every group of equal rows, in the order of their appearance."""
    if len(rows) == 0:
        return rows
    _, first = np.unique(np.packbits(A[rows], axis=1), axis=0, return_index=True)
    return rows[np.sort(first)]
