from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.strategies import planted_graph
from ucad.errors import FactorisationError
from ucad.graph import (
    boolean_product,
    factorise,
    has_anchors,
    in_anchors,
    minimal_columns,
    minimal_rows,
    out_anchors,
    row_sparsity,
)


def matrices(max_rows=6, max_columns=5):
    shapes = st.tuples(st.integers(1, max_rows), st.integers(1, max_columns))
    return shapes.flatmap(lambda shape: arrays(bool, shape))


@given(matrices(), st.data())
def test_the_product_is_the_or_of_ands(left, data):
    right = data.draw(arrays(bool, (left.shape[1], 4)))
    expected = [
        [any(left[i, k] and right[k, j] for k in range(left.shape[1])) for j in range(4)]
        for i in range(left.shape[0])
    ]
    assert boolean_product(left, right).tolist() == expected


@given(matrices())
def test_minimal_rows_are_those_of_the_definition(A):
    def is_minimal(i):
        return A[i].any() and not any(
            A[h].any() and (A[h] <= A[i]).all() and (A[h] != A[i]).any() for h in range(len(A))
        )

    assert minimal_rows(A).tolist() == [i for i in range(len(A)) if is_minimal(i)]
    assert minimal_columns(A.T).tolist() == minimal_rows(A).tolist()


@given(matrices())
def test_anchors_touch_one_factor_only(Q):
    for i, k in product(*map(range, Q.shape)):
        assert in_anchors(Q)[i, k] == (Q[i, k] and Q[i].sum() == 1)
    assert (out_anchors(Q) == in_anchors(Q)).all()
    assert has_anchors(Q, Q) == in_anchors(Q).any(axis=0).all()
    assert row_sparsity(Q) == max(sum(row) for row in Q.tolist())


@given(arrays(bool, (4, 4)))
def test_factorise_refuses_or_returns_an_anchored_pair_that_makes_a(A):
    try:
        found = factorise(A)
    except FactorisationError:
        return
    assert (boolean_product(found.Q, found.R.T) == A).all()
    assert has_anchors(found.Q, found.R)


def test_the_empty_graph_has_no_factors():
    assert factorise(np.zeros((3, 3), dtype=bool)).Q.shape == (3, 0)


def test_two_thousand_variables_and_fifty_factors_are_read_back():
    graph = planted_graph(2000, 50, 0.05, np.random.default_rng(0))
    found = factorise(graph.variable_adjacency)
    assert found.Q.shape == (2000, 50)
    assert (boolean_product(found.Q, found.R.T) == graph.variable_adjacency).all()


@pytest.mark.parametrize(
    ("A", "message"),
    [
        ([[1, 1], [0, 1]], r"A\[0, 0\]|minimal"),
        ([[1, 0, 1], [1, 1, 0], [0, 1, 1]], r"A\[0, 2\] is 1, but minimal row 0"),
    ],
)
def test_the_message_names_an_entry(A, message):
    with pytest.raises(FactorisationError, match=message):
        factorise(np.array(A, dtype=bool))
