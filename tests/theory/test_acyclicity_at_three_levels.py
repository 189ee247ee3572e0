"""Lemma (Lopez et al.): G is acyclic ⟺ G_X is acyclic ⟺ G_Z is acyclic."""

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import seeds
from ucad.graph import boolean_product, topological_levels


@given(seeds, st.sampled_from([0.1, 0.2, 0.3]))
def test_the_three_graphs_are_acyclic_together(seed, density):
    rng = np.random.default_rng(seed)
    choice = rng.choice(3, size=(8, 4), p=[density, density, 1 - 2 * density])
    Q, R = choice == 0, choice == 1
    zeros_x, zeros_z = np.zeros((8, 8), dtype=bool), np.zeros((4, 4), dtype=bool)
    bipartite = np.block([[zeros_x, Q], [R.T, zeros_z]])
    graphs = [bipartite, boolean_product(Q, R.T), boolean_product(R.T, Q)]
    verdicts = {nx.is_directed_acyclic_graph(nx.DiGraph(graph)) for graph in graphs}
    assert len(verdicts) == 1
    assert {topological_levels(graph) is not None for graph in graphs} == verdicts
