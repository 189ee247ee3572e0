"""Groups of nodes that act as one, and what one pattern per group explains."""

import networkx as nx
import numpy as np
import pytest

from tests.networks.made_graphs import document, graph_of
from ucad.errors import InvalidInputError
from ucad.networks.supernodes import _explained, group_nodes


def test_the_groups_that_act_as_one_are_found_and_beat_random_ones():
    made, features = document()
    found = group_nodes(graph_of(made))
    assert {frozenset(g.members) for g in found.groups} == {
        frozenset(ids) for ids in features.values()
    }
    assert {g.name for g in found.groups} == set(features)
    assert found.explained > 0.9 > found.placebo
    assert not found.single


def test_a_group_is_never_a_cycle():
    """a → b → c with a and c alike: one group of a and c would cause b and be caused by it."""
    rng = np.random.default_rng(3)
    for seed in range(5):
        made, _ = document(seed)
        names = [n["node_id"] for n in made["nodes"] if n["layer"] in ("2", "3", "6")]
        rows = {name: k for k, name in enumerate(names)}
        for _ in range(15):
            a, b = sorted(rng.choice(names, size=2, replace=False), key=rows.__getitem__)
            made["links"].append({"source": a, "target": b, "weight": float(rng.normal())})
        graph = graph_of(made)
        found = group_nodes(graph, min_similarity=-1.0)
        of = {m: g.name + g.members[0] for g in found.groups for m in g.members}
        quotient = nx.DiGraph()
        for link in made["links"]:
            source, target = (of.get(link[end], link[end]) for end in ("source", "target"))
            if source != target:
                quotient.add_edge(source, target)
        assert nx.is_directed_acyclic_graph(quotient)


def test_what_one_pattern_explains_is_the_share_of_the_best_rank_one_matrix():
    rng = np.random.default_rng(0)
    patterns = rng.standard_normal((6, 9))
    groups, left = [[0, 1, 2], [4, 5]], 0.0
    for group in groups:
        u, s, v = np.linalg.svd(patterns[group])
        left += ((patterns[group] - s[0] * np.outer(u[:, 0], v[0])) ** 2).sum()
    total = (patterns[[0, 1, 2, 4, 5]] ** 2).sum()
    assert _explained(patterns, groups) == pytest.approx(1 - left / total)
    assert _explained(np.outer([1.0, -2.0, 3.0], patterns[0]), [[0, 1, 2]]) == pytest.approx(1.0)
    assert _explained(patterns, []) == 0.0


def test_only_nodes_that_are_named_are_grouped_and_the_most_influential_of_many():
    made, features = document()
    graph = graph_of(made)
    some = [*features["capital"][:2], features["Texas"][0]]
    found = group_nodes(graph, only=some)
    grouped = {member for group in found.groups for member in group.members}
    assert grouped | set(found.single) == set(some)
    few = group_nodes(graph, max_nodes=5)
    assert sum(len(group.members) for group in few.groups) + len(few.single) == 5


def test_nothing_is_merged_that_is_not_alike_enough():
    made, _ = document()
    found = group_nodes(graph_of(made), min_similarity=1.0)
    assert found.groups == ()
    assert found.explained == 0.0


@pytest.mark.parametrize("similarity", [-1.1, 1.5])
def test_a_similarity_that_is_no_cosine_is_refused(similarity):
    made, _ = document()
    with pytest.raises(InvalidInputError, match=f"a cosine, −1 to 1. Got {similarity}"):
        group_nodes(graph_of(made), min_similarity=similarity)


def test_one_node_is_no_group():
    made, features = document()
    with pytest.raises(InvalidInputError, match="At least two features"):
        group_nodes(graph_of(made), only=features["Texas"][:1])
