import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import anchored_graphs
from ucad.errors import InvalidInputError
from ucad.graph import FactorGraph, topological_levels


def chain() -> FactorGraph:
    """X1 → Z1 → X2 → Z2 → X3."""
    return FactorGraph(
        np.array([[1, 0], [0, 1], [0, 0]], dtype=bool),
        np.array([[0, 0], [1, 0], [0, 1]], dtype=bool),
    )


@given(anchored_graphs(), st.randoms())
def test_relabelling_factors_leaves_the_variable_graph_alone(graph, random):
    order = list(range(graph.n_factors))
    random.shuffle(order)
    other = graph.relabelled(order)
    assert (other.variable_adjacency == graph.variable_adjacency).all()
    assert other.is_same_up_to_relabelling(graph)
    assert (other == graph) == (order == sorted(order))


@given(anchored_graphs())
def test_parents_and_children_are_two_views_of_the_same_edges(graph):
    for x in graph.variable_names:
        for z in graph.factor_names:
            assert (z in graph.children(x)) == (x in graph.parents(z))
            assert (z in graph.parents(x)) == (x in graph.children(z))
        low = {p for z in graph.parents(x) for p in graph.parents(z)}
        assert set(graph.low_level_parents(x)) == low
    for z in graph.factor_names:
        high = {p for x in graph.parents(z) for p in graph.parents(x)}
        assert set(graph.high_level_parents(z)) == high


@given(anchored_graphs())
def test_levels_increase_along_every_edge(graph):
    for i, k in np.argwhere(graph.Q):
        assert graph.variable_level[i] <= graph.factor_level[k]
    for j, k in np.argwhere(graph.R):
        assert graph.factor_level[k] < graph.variable_level[j]
    position = np.argsort(graph.factor_order)
    for a, b in np.argwhere(graph.factor_adjacency):
        assert position[a] < position[b]


@given(anchored_graphs())
def test_networkx_sees_the_same_graph(graph):
    exported = graph.to_networkx()
    assert nx.is_directed_acyclic_graph(exported)
    assert exported.number_of_edges() == graph.Q.sum() + graph.R.sum()
    depth = dict.fromkeys(exported, 0)
    for node in nx.topological_sort(exported):
        for child in exported.successors(node):
            depth[child] = max(depth[child], depth[node] + 1)
    factor_depth = [depth[z] for z in graph.factor_names]
    assert np.array_equal(np.argsort(factor_depth, kind="stable"), graph.factor_order)


def test_graphml_is_read_back(tmp_path):
    chain().write_graphml(tmp_path / "chain.graphml")
    back = nx.read_graphml(tmp_path / "chain.graphml")
    assert set(back.edges) == set(chain().to_networkx().edges)
    assert back.nodes["Z1"]["kind"] == "factor"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"R": np.zeros((3, 3), dtype=bool)}, "same shape"),
        ({"R": np.array([[1, 0], [1, 0], [0, 1]], dtype=bool)}, "'X1' and 'Z1'"),
        ({"R": np.array([[0, 1], [1, 0], [0, 1]], dtype=bool)}, "cycle through the factors Z1, Z2"),
        ({"variable_names": ("a", "b")}, "3 names. Got 2"),
        ({"factor_names": ("X1", "Z")}, r"Twice: \['X1'\]"),
    ],
)
def test_what_is_no_factor_graph_is_refused(change, message):
    arguments = {"Q": chain().Q, "R": chain().R} | change
    if "R" in change and change["R"].shape != chain().Q.shape:
        with pytest.raises(Exception, match="Q|R"):
            FactorGraph(**arguments)
        return
    with pytest.raises(InvalidInputError, match=message):
        FactorGraph(**arguments)


def test_unknown_names_get_a_suggestion():
    graph = FactorGraph(chain().Q, chain().R, variable_names=("STAT1", "JAK2", "IRF1"))
    with pytest.raises(InvalidInputError, match="no variable 'STAT2'. Did you mean 'STAT1'"):
        graph.low_level_parents("STAT2")


def test_layers_are_respected_or_not():
    assert chain().respects_layers(np.array([0, 1, 2]))
    assert not chain().respects_layers(np.array([0, 0, 1]))


def test_a_cycle_has_no_levels():
    assert topological_levels(np.array([[0, 1], [1, 0]], dtype=bool)) is None


def test_equal_graphs_have_equal_hashes():
    assert hash(chain()) == hash(chain())
    assert chain() != "chain"


def test_factors_get_other_names_where_variables_are_called_z():
    graph = FactorGraph(chain().Q, chain().R, variable_names=("Z1", "Z2", "Z3"))
    assert graph.factor_names == ("F1", "F2")
