import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden.definitions import smallest_shd
from ucad.metrics import compare_structure

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=40, deadline=None)


def random_graph(rng, n_variables=6, n_factors=3):
    state = rng.choice(3, size=(n_variables, n_factors), p=[0.3, 0.3, 0.4])
    return state == 0, state == 1


@few
@given(seeds, st.integers(1, 4), st.integers(1, 4))
def test_the_shd_is_that_of_the_best_relabelling(seed, n_learned, n_true):
    rng = np.random.default_rng(seed)
    learned, true = random_graph(rng, n_factors=n_learned), random_graph(rng, n_factors=n_true)
    assert compare_structure(learned, true).shd == smallest_shd(*learned, *true)


@few
@given(seeds, st.permutations(range(3)))
def test_relabelling_factors_leaves_every_count_alone_when_the_graph_is_right(seed, labels):
    Q, R = random_graph(np.random.default_rng(seed))
    found = compare_structure((Q[:, labels], R[:, labels]), (Q, R))
    assert found.shd == found.A.shd == 0
    assert found.is_exact
    assert found.anchors_right
    assert found.Q.right == Q.sum()


@few
@given(seeds)
def test_every_true_edge_is_right_missing_or_reversed(seed):
    rng = np.random.default_rng(seed)
    found = compare_structure(random_graph(rng, n_factors=2), random_graph(rng))
    for counts in (found.Q, found.R, found.A, found.in_anchors, found.out_anchors):
        assert counts.right + counts.missing + counts.reversed == counts.n_true
    learned_edges = found.Q.n_learned + found.R.n_learned
    accounted = (found.Q, found.R)
    assert sum(c.right + c.extra + c.reversed for c in accounted) == learned_edges


Q = np.array([[1, 0], [0, 1], [0, 0], [0, 0]], dtype=bool)
R = np.array([[0, 0], [0, 0], [1, 0], [0, 1]], dtype=bool)


def test_one_missing_one_extra_and_one_reversed_edge_are_told_apart():
    learned_Q, learned_R = Q.copy(), R.copy()
    learned_Q[0, 0] = False  # missing
    learned_R[3, 0] = True  # extra
    learned_R[3, 1], learned_Q[3, 1] = False, True  # reversed
    found = compare_structure((learned_Q, learned_R), (Q, R))
    assert (found.Q.right, found.Q.missing, found.Q.extra, found.Q.reversed) == (1, 1, 0, 0)
    assert (found.R.right, found.R.missing, found.R.extra, found.R.reversed) == (1, 0, 1, 1)
    assert found.shd == 3
    assert found.Q.precision == 0.5
    assert found.R.recall == 0.5
    assert not found.is_exact
    assert not found.anchors_right


def test_a_reversed_edge_between_variables_counts_once():
    swapped = compare_structure((R, Q), (Q, R))
    assert (swapped.A.reversed, swapped.A.missing, swapped.A.extra) == (2, 0, 0)
    assert swapped.A.shd == 2


@pytest.mark.parametrize("surplus", ["learned", "true"])
def test_a_surplus_factor_is_named_and_the_graph_not_exact(surplus):
    more_Q = np.column_stack([np.zeros(4, dtype=bool), Q])
    more_R = np.column_stack([np.zeros(4, dtype=bool), R])
    pair = ((more_Q, more_R), (Q, R))
    found = compare_structure(*(pair if surplus == "learned" else pair[::-1]))
    assert found.shd == 0
    assert not found.is_exact
    assert f"unmatched: {surplus} factor 0" in str(found)
    assert (found.unmatched_learned if surplus == "learned" else found.unmatched_true) == (0,)


def test_no_learned_edges_have_no_false_ones():
    nothing = np.zeros_like(Q)
    found = compare_structure((nothing, nothing), (Q, R))
    assert (found.Q.precision, found.Q.recall) == (1.0, 0.0)
