"""Which variables may become children, and which stay anchors."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ucad.graph import FactorGraph, boolean_product, topological_levels
from ucad.solvers.gradient.attachment import best_anchors, possible_children


@st.composite
def graphs(draw):
    """A random acyclic graph: variables and factors in one random order."""
    n, m = draw(st.integers(3, 7)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    place = rng.permutation(n + m)
    before = place[:n, None] < place[None, n:]
    drawn = rng.random((n, m)) < 0.5
    return FactorGraph(before & drawn, ~before & drawn)


@given(graphs())
def test_a_possible_child_closes_no_cycle(graph):
    Q, R = (torch.from_numpy(np.array(part)) for part in (graph.Q, graph.R))
    for j, k in possible_children(Q, R, None).nonzero().tolist():
        wider = R.clone()
        wider[j, k] = True
        assert not bool((Q & wider).any())
        assert topological_levels(boolean_product(wider.numpy().T, Q.numpy())) is not None


def test_layers_rule_out_children_before_the_parents():
    Q = torch.tensor([[False], [True], [False], [False]])
    R = torch.tensor([[False], [False], [False], [True]])
    layers = torch.tensor([0, 1, 1, 2])
    assert possible_children(Q, R, layers)[:, 0].tolist() == [False, False, False, True]
    assert possible_children(Q, R, None)[:, 0].tolist() == [True, False, True, True]


@pytest.mark.parametrize(("variance", "anchor"), [([0.5, 0.1, 0.9], 1), ([0.1, 0.5, 0.9], 0)])
def test_of_the_variables_with_one_factor_the_best_explained_is_its_anchor(variance, anchor):
    R = torch.tensor([[True, False], [True, False], [True, True]])
    marked = best_anchors(R, torch.tensor(variance))
    assert marked.nonzero().flatten().tolist() == [anchor]
