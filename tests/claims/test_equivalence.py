"""Compelled edges are those that all Markov-equivalent DAGs share, found here by brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ucad.claims.equivalence import compelled_edges, covered_edges
from ucad.graph import topological_levels


def pattern(A):
    """Skeleton and unshielded colliders: equal for equivalent DAGs, and only for those."""
    adjacent = A | A.T
    n = len(A)
    colliders = {
        (min(a, c), b, max(a, c))
        for a, b, c in product(range(n), repeat=3)
        if a != c and A[a, b] and A[c, b] and not adjacent[a, c]
    }
    return adjacent.tobytes(), frozenset(colliders)


def equivalent_dags(A):
    pairs = np.argwhere(np.triu(A | A.T))
    for choice in product((False, True), repeat=len(pairs)):
        other = np.zeros_like(A)
        for (i, j), forward in zip(pairs, choice, strict=True):
            other[(i, j) if forward else (j, i)] = True
        if topological_levels(other) is not None and pattern(other) == pattern(A):
            yield other


@st.composite
def dags(draw, n=5):
    edges = draw(st.lists(st.booleans(), min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2))
    A = np.zeros((n, n), dtype=bool)
    A[np.triu_indices(n, k=1)] = edges
    order = draw(st.permutations(range(n)))
    return A[np.ix_(order, order)]


@given(dags())
@settings(max_examples=40, deadline=None)
def test_compelled_edges_are_shared_by_all_equivalent_dags(A):
    shared = np.logical_and.reduce(list(equivalent_dags(A)))
    assert (compelled_edges(A) == shared).all()


@given(dags(n=4), st.integers(0, 2**16))
@settings(max_examples=40, deadline=None)
def test_known_directions_compel_what_all_dags_that_have_them_share(A, seed):
    known = A & (np.random.default_rng(seed).random(A.shape) < 0.4)
    agree = [other for other in equivalent_dags(A) if (other & known == known).all()]
    assert (compelled_edges(A, known) == np.logical_and.reduce(agree)).all()


@given(dags())
@settings(max_examples=40, deadline=None)
def test_reversing_a_covered_edge_gives_an_equivalent_dag(A):
    for i, j in np.argwhere(covered_edges(A)):
        other = A.copy()
        other[i, j], other[j, i] = False, True
        assert topological_levels(other) is not None
        assert pattern(other) == pattern(A)
        assert not compelled_edges(A)[i, j]
