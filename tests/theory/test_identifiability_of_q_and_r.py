"""Theorem "Identifiability of (Q,R)" with its lemmas: Q and R are read back from A."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.strategies import anchored_graphs, planted_graph
from ucad.errors import FactorisationError
from ucad.graph import (
    AnchorCondition,
    FactorGraph,
    boolean_product,
    boolean_rank,
    disjunctness,
    factorise,
    minimal_columns,
    minimal_rows,
    row_sparsity,
)


def test_q_and_r_are_recovered_from_a_on_a_thousand_anchored_graphs():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        n_factors = int(rng.integers(1, 7))
        n_variables = 2 * n_factors + int(rng.integers(0, 20))
        graph = planted_graph(n_variables, n_factors, rng.choice([0.1, 0.3, 0.6]), rng)
        found = factorise(graph.variable_adjacency)
        assert FactorGraph(found.Q, found.R).is_same_up_to_relabelling(graph)
        assert "Theorem" in found.statement


@given(anchored_graphs())
def test_minimal_rows_are_in_anchors_and_minimal_columns_out_anchors(graph):
    A = graph.variable_adjacency
    assert set(minimal_rows(A)) == set(np.flatnonzero(graph.in_anchors.any(axis=1)))
    assert set(minimal_columns(A)) == set(np.flatnonzero(graph.out_anchors.any(axis=1)))


@settings(max_examples=15)
@given(anchored_graphs(max_factors=3, max_extra=4))
def test_the_decomposition_has_full_rank(graph):
    assert boolean_rank(graph.variable_adjacency) == (graph.n_factors, graph.n_factors)


def test_the_counterexample_of_the_paper_is_refused_and_the_entry_named():
    A = ~np.eye(3, dtype=bool)
    with pytest.raises(FactorisationError, match=r"A\[0, 2\] is 1"):
        factorise(A)
    bordered = np.zeros((6, 6), dtype=bool)
    bordered[:3, 3:] = A
    with pytest.raises(FactorisationError, match=r"A\[0, 5\] is 1"):
        factorise(bordered)


def test_in_anchors_and_disjunct_columns_suffice():
    """Lemma "Reading Q,R from A": Q has in-anchors, R is 2-disjunct and has no out-anchors."""
    pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)]
    R_children = np.array([[k in pair for k in range(5)] for pair in pairs])
    Q_parents = np.concatenate([np.eye(5, dtype=bool), np.array([[1, 1, 0, 0, 0]], dtype=bool)])
    Q = np.concatenate([Q_parents, np.zeros_like(R_children)])
    R = np.concatenate([np.zeros_like(Q_parents), R_children])
    assert disjunctness(R) == 3 >= row_sparsity(Q) == 2
    for left, right, side in [(Q, R, AnchorCondition.IN), (R, Q, AnchorCondition.OUT)]:
        found = factorise(boolean_product(left, right.T), side)
        assert "Lemma" in found.statement
        assert FactorGraph(found.Q, found.R).is_same_up_to_relabelling(FactorGraph(left, right))


def test_what_disjunctness_cannot_tell_is_refused():
    """Row 3 may belong to factors {0, 1} or to {0, 1, 2}: R is 1-disjunct only."""
    R = np.array([[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0]], dtype=bool)
    Q = np.concatenate([np.eye(3, dtype=bool), np.array([[1, 1, 0]], dtype=bool)])
    assert disjunctness(R) == 1
    with pytest.raises(FactorisationError, match="1-disjunct"):
        factorise(boolean_product(Q, R.T), AnchorCondition.IN)


def test_two_one_sided_readings_of_one_matrix_can_differ():
    A = ~np.eye(3, dtype=bool)
    by_in, by_out = factorise(A, AnchorCondition.IN), factorise(A, AnchorCondition.OUT)
    assert (np.eye(3, dtype=bool) == by_in.Q).all()
    assert (np.eye(3, dtype=bool) == by_out.R).all()


def test_one_changed_entry_of_a_is_noticed():
    graph = planted_graph(20, 4, 0.3, np.random.default_rng(1))
    i, j = np.argwhere(graph.in_anchors)[0, 0], np.argwhere(graph.out_anchors)[0, 0]
    A = graph.variable_adjacency.copy()
    A[i, j] ^= True
    try:
        found = factorise(A)
    except FactorisationError:
        return
    assert not FactorGraph(found.Q, found.R).is_same_up_to_relabelling(graph)
    assert (boolean_product(found.Q, found.R.T) == A).all()
