"""Which edges of a DAG no Markov-equivalent DAG reverses: unshielded colliders and Meek's rules."""

from __future__ import annotations

import numpy as np

from ucad._types import BooleanMatrix
from ucad.graph import boolean_product

__all__ = ["compelled_edges", "covered_edges"]

MAX_OPEN_FOR_PAIR_RULES = 2000
"""With more open edges the two rules that look at pairs are left out: fewer edges are compelled."""


def covered_edges(A: BooleanMatrix) -> BooleanMatrix:
    """The edges i → j with Pa(j) = Pa(i) ∪ {i}: each can be reversed alone, with equal likelihood.

    >>> covered_edges(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)).astype(int)
    array([[0, 1, 0],
           [0, 0, 1],
           [0, 0, 0]])
    """
    covered = np.zeros_like(A)
    for i, j in np.argwhere(A):
        own = A[:, i].copy()
        own[i] = True
        covered[i, j] = (own == A[:, j]).all()
    return covered


def compelled_edges(A: BooleanMatrix, known: BooleanMatrix | None = None) -> BooleanMatrix:
    """The edges of A that every equivalent DAG shares, given that some directions are known.

    Starts from the edges in unshielded colliders i → j ← h (i and h not adjacent) and the known
    ones, and applies Meek's four rules until nothing changes. O(rounds · variables³) for the first
    two rules, O(open edges · parents²) for the others.

    Args:
        A: the DAG, a row is a cause.
        known: edges whose direction is known from elsewhere, such as interventions.
    """
    adjacent = A | A.T
    apart = ~adjacent & ~np.eye(len(A), dtype=bool)
    directed = A & boolean_product(apart, A)
    if known is not None:
        directed |= known & A
    while True:
        left = A & ~directed
        new = boolean_product(directed.T, apart)  # a → i − j, a and j apart
        new |= boolean_product(directed, directed)  # i → a → j
        new &= left
        if not new.any() and 0 < left.sum() <= MAX_OPEN_FOR_PAIR_RULES:
            new = _by_pairs(directed, adjacent, left)
        if not new.any():
            return directed
        directed |= new


def _by_pairs(
    directed: BooleanMatrix, adjacent: BooleanMatrix, left: BooleanMatrix
) -> BooleanMatrix:
    """Meek's third and fourth rule, for edges i − j that are still open."""
    new = np.zeros_like(left)
    undirected = adjacent & ~directed & ~directed.T
    for i, j in np.argwhere(left):
        third = np.flatnonzero(undirected[i] & directed[:, j])
        pairs = ~adjacent[np.ix_(third, third)]
        np.fill_diagonal(pairs, val=False)
        middle = np.flatnonzero(adjacent[i] & directed[:, j])
        first = np.flatnonzero(undirected[i] & ~adjacent[j])
        first = first[first != j]
        new[i, j] = pairs.any() or directed[np.ix_(first, middle)].any()
    return new
