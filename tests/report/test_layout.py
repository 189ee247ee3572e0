"""Where nodes are drawn: causes to the left, no two in one place, few crossings."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.report.models import LARGER, truth_of
from tests.strategies import anchored_graphs
from ucad.graph import FactorGraph
from ucad.report.layout import high_level_layout, low_level_layout

LARGEST = ("a", "128-8", 0)


@settings(max_examples=15)
@given(anchored_graphs())
def test_every_edge_goes_to_the_right_and_what_has_no_edge_is_not_drawn(graph):
    places = low_level_layout(graph)
    used = graph.Q.any(axis=1) | graph.R.any(axis=1)
    names = [name for name, drawn in zip(graph.variable_names, used, strict=True) if drawn]
    assert set(places) == {*names, *graph.factor_names}
    for i, k in np.argwhere(graph.Q):
        assert places[graph.variable_names[i]].x < places[graph.factor_names[k]].x
    for j, k in np.argwhere(graph.R):
        assert places[graph.factor_names[k]].x < places[graph.variable_names[j]].x
    assert len(set(places.values())) == len(places)
    xs = [place.x for place in places.values()]
    assert max(xs) == pytest.approx(-min(xs), abs=2e-3)


def star(n):
    """n parents and n children of one factor."""
    Q = np.arange(2 * n)[:, None] < n
    return FactorGraph(Q, ~Q)


def test_a_crowded_column_is_broken_into_several_and_stays_left_of_the_next():
    places = low_level_layout(star(40))
    parents = [places[f"X{i + 1}"] for i in range(40)]
    assert len({place.x for place in parents}) > 1
    assert max(place.x for place in parents) < places["Z1"].x
    heights = [place.y for place in parents]
    assert max(heights) == pytest.approx(-min(heights))


def crossings(graph, places):
    """Pairs of edges from variables to their factors whose ends are in opposite order."""
    edges = [
        (places[graph.variable_names[i]].y, places[graph.factor_names[k]].y)
        for i, k in np.argwhere(graph.Q)
    ]
    return sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for n, a in enumerate(edges) for b in edges[:n])


def test_variables_of_one_factor_stand_together_however_their_columns_are_mixed():
    rng = np.random.default_rng(0)
    Q = np.repeat(np.eye(3, dtype=bool), [4, 4, 4], axis=0)
    order = rng.permutation(12)
    Q, R = np.vstack([Q[order], np.zeros((3, 3), dtype=bool)]), np.eye(15, 3, k=-12, dtype=bool)
    graph = FactorGraph(Q, R)
    assert crossings(graph, low_level_layout(graph)) == 0


def test_a_graph_without_factors_has_no_places():
    empty = np.zeros((4, 0), dtype=bool)
    assert low_level_layout(FactorGraph(empty, empty)) == {}
    assert high_level_layout(FactorGraph(empty, empty)) == {}


@pytest.mark.parametrize("which", [LARGER, LARGEST], ids=["e", "a"])
def test_causes_stand_to_the_left_and_no_two_nodes_in_one_place(which):
    graph = truth_of(which)[0].graph
    low, high = low_level_layout(graph), high_level_layout(graph)
    for i, k in np.argwhere(graph.Q):
        assert low[graph.variable_names[i]].x < low[graph.factor_names[k]].x
    for j, k in np.argwhere(graph.R):
        assert low[graph.factor_names[k]].x < low[graph.variable_names[j]].x
    for k, other in np.argwhere(graph.factor_adjacency):
        assert high[graph.factor_names[k]].x < high[graph.factor_names[other]].x
    for places in (low, high):
        assert len(set(places.values())) == len(places)
