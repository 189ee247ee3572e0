"""What prior knowledge leaves open."""

import numpy as np
import pytest

from ucad.errors import InvalidInputError
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.search.knowledge import graph_with, possibilities


def edges(*pairs, shape=(4, 2)):
    matrix = np.zeros(shape, dtype=bool)
    for pair in pairs:
        matrix[pair] = True
    return matrix


def test_a_pair_is_possible_if_one_factor_may_have_both_ends():
    prior = PriorKnowledge(forbidden_parent=edges((0, 0)), forbidden_child=edges((1, 1)))
    pairs = possibilities(prior).pairs
    assert not pairs[0, 1]
    pairs[0, 1] = True
    assert pairs.all()


def test_a_candidate_may_only_have_the_children_of_factors_that_allow_its_parents():
    prior = PriorKnowledge(forbidden_parent=edges((0, 0)), forbidden_child=edges((1, 1), (2, 0)))
    one, other = edges((0, 0), (3, 1))[:, [0]], edges((3, 0))[:, [0]]
    assert possibilities(prior).children(one)[:, 0].tolist() == [True, False, True, True]
    assert possibilities(prior).children(other)[:, 0].tolist() == [True, True, True, True]


def test_a_candidate_that_no_factor_allows_has_no_children():
    prior = PriorKnowledge(forbidden_parent=edges((0, 0), (0, 1)))
    assert not possibilities(prior).children(edges((0, 0))[:, [0]]).any()


def test_found_edges_that_contradict_required_ones_go():
    prior = PriorKnowledge(required_child=edges((0, 1)), required_parent=edges((1, 1)))
    graph = graph_with(prior, edges((0, 0), (1, 1)), edges((1, 0)))
    assert graph.R[0, 1]
    assert graph.Q[1, 1]
    assert not (graph.Q[0, 0] and graph.R[1, 0])


def test_required_edges_that_make_a_cycle_are_refused():
    prior = PriorKnowledge(
        required_parent=edges((0, 0), (1, 1)), required_child=edges((1, 0), (0, 1))
    )
    with pytest.raises(InvalidInputError, match="acyclic"):
        graph_with(prior, edges(), edges())
