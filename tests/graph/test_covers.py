from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ucad.graph import boolean_rank, disjunctness, is_disjunct


def is_disjunct_by_definition(Q: np.ndarray, r: int) -> bool:
    m = Q.shape[1]
    return all(
        any(Q[j, k] and not Q[j, list(S)].any() for j in range(len(Q)))
        for k in range(m)
        for size in range(r + 1)
        for S in combinations([other for other in range(m) if other != k], size)
    )


def rank_by_definition(A: np.ndarray) -> int:
    """The fewest rectangles of ones that cover A, by trying all sets of rectangles."""
    if not A.any():
        return 0
    rows = [np.array(bits) for bits in np.ndindex(*[2] * A.shape[0])]
    rectangles = set()
    for chosen in rows:
        inside = A[chosen.astype(bool)].all(axis=0) if chosen.any() else np.zeros(A.shape[1], bool)
        rectangles.add(np.outer(chosen, inside).astype(bool).tobytes())
    for size in range(1, min(A.shape) + 1):
        for some in combinations(rectangles, size):
            covered = np.any([np.frombuffer(r, dtype=bool) for r in some], axis=0)
            if (covered.reshape(A.shape) == A).all():
                return size
    raise AssertionError("rows or columns always cover A")


@given(st.integers(2, 4).flatmap(lambda m: arrays(bool, (6, m))))
def test_disjunctness_is_that_of_the_definition(Q):
    r = disjunctness(Q)
    if (~Q.any(axis=0)).any():
        assert r == -1
        return
    assert is_disjunct_by_definition(Q, r)
    assert r == Q.shape[1] - 1 or not is_disjunct_by_definition(Q, r + 1)
    assert is_disjunct(Q, r)
    assert not is_disjunct(Q, r + 1)


@settings(max_examples=40)
@given(arrays(bool, (4, 4)))
def test_the_boolean_rank_is_the_smallest_cover_by_rectangles(A):
    found = boolean_rank(A)
    assert found.is_exact
    assert found.lower == rank_by_definition(A)


@given(arrays(bool, (8, 8)))
def test_without_the_cover_the_bounds_enclose_the_rank(A):
    exact, bounds = boolean_rank(A), boolean_rank(A, max_rectangles=1)
    assert bounds.lower <= exact.lower == exact.upper <= bounds.upper
