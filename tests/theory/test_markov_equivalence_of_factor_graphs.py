"""Lemma "Identifiability of G_L" says that two parents per factor leave one DAG: they do not."""

from __future__ import annotations

import numpy as np
import pytest

from ucad.claims.equivalence import compelled_edges, covered_edges
from ucad.errors import FactorisationError
from ucad.graph import FactorGraph, boolean_rank, factorise


def graph(n, *factors):
    Q, R = np.zeros((2, n, len(factors)), dtype=bool)
    for k, (parents, children) in enumerate(factors):
        Q[np.array(parents) - 1, k] = R[np.array(children) - 1, k] = True
    return FactorGraph(Q, R)


WITHOUT_ANCHORS = graph(4, ([1, 2], [3]), ([1, 2, 3], [4]))
WITH_ANCHORS = graph(5, ([1, 2], [3, 4]), ([2, 3], [4, 5]))


def reversed_edge(A, i, j):
    other = A.copy()
    other[i, j], other[j, i] = False, True
    return other


@pytest.mark.parametrize("found", [WITHOUT_ANCHORS, WITH_ANCHORS])
def test_two_parents_per_factor_leave_an_edge_that_can_be_reversed(found):
    assert (found.Q.sum(axis=0) >= 2).all()
    A = found.variable_adjacency
    assert covered_edges(A)[2, 3]
    assert not compelled_edges(A)[2, 3]


@pytest.mark.parametrize("found", [WITHOUT_ANCHORS, WITH_ANCHORS])
def test_both_directions_have_equal_gaussian_likelihood(found):
    """The reversed graph reaches the same covariance: its regressions reproduce it exactly."""
    A = found.variable_adjacency
    rng = np.random.default_rng(0)
    weights = np.where(A, rng.uniform(0.5, 1.0, A.shape), 0.0)
    mixing = np.linalg.inv(np.eye(len(A)) - weights)
    covariance = mixing.T @ mixing
    other = reversed_edge(A, 2, 3)
    log_determinants = []
    for dag in (A, other):
        left = []
        for j in range(len(A)):
            parents = np.flatnonzero(dag[:, j])
            block = covariance[np.ix_(parents, parents)]
            gain = covariance[parents, j] @ np.linalg.solve(block, covariance[parents, j])
            left.append(covariance[j, j] - gain if len(parents) else covariance[j, j])
        log_determinants.append(np.log(left).sum())
    assert log_determinants[0] == pytest.approx(log_determinants[1], abs=1e-12)


def test_without_anchors_both_members_are_of_the_same_rank():
    A = WITHOUT_ANCHORS.variable_adjacency
    assert boolean_rank(A) == boolean_rank(reversed_edge(A, 2, 3)) == (2, 2)


def test_with_anchors_the_other_member_has_no_anchored_reading():
    A = WITH_ANCHORS.variable_adjacency
    assert factorise(A).Q.shape[1] == 2
    with pytest.raises(FactorisationError):
        factorise(reversed_edge(A, 2, 3))
