"""A graph that prior knowledge is imposed on."""

import numpy as np
import pytest

from ucad.errors import InvalidInputError
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.search.prior_graph import graph_with


def edges(*pairs, shape=(4, 2)):
    matrix = np.zeros(shape, dtype=bool)
    for pair in pairs:
        matrix[pair] = True
    return matrix


def test_a_graph_that_agrees_is_left_alone():
    prior = PriorKnowledge(required_parent=edges((1, 1)))
    Q, R = edges((0, 0), (1, 1)), edges((2, 0), (3, 1))
    graph = graph_with(prior, Q, R)
    assert (graph.Q == Q).all()
    assert (graph.R == R).all()


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
