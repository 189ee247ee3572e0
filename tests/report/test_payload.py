"""What the page's script gets: exactly the graph, and nothing that could end its element."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.consensus.made_fits import CHAIN, SAMPLES, halves, without
from ucad.consensus.consensus import summarise
from ucad.consensus.counting import count
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.report.payload import embedded, page_data
from ucad.report.strengths import edge_strengths

DATA = InterventionalData.from_arrays(SAMPLES)


def payload(support=None):
    return page_data(CHAIN, DATA, edge_strengths(CHAIN, DATA), support)


def by_name(level):
    names = {number: name for number, name, *_ in level["nodes"]}
    return {(names[a], names[b]): (strength, weak) for a, b, strength, _, weak in level["edges"]}


def test_the_script_gets_exactly_the_edges_of_both_levels():
    found = payload()
    strengths, graph = edge_strengths(CHAIN, DATA), CHAIN.graph
    expected = {
        (graph.variable_names[i], graph.factor_names[k]): strengths.into[i, k]
        for i, k in np.argwhere(graph.Q)
    } | {
        (graph.factor_names[k], graph.variable_names[j]): strengths.out_of[j, k]
        for j, k in np.argwhere(graph.R)
    }
    edges = by_name(found["low"])
    assert edges.keys() == expected.keys()
    for edge, (strength, weak) in edges.items():
        assert strength == pytest.approx(expected[edge], rel=5e-3)
        assert weak == 0
    assert by_name(found["high"]).keys() == {("Z1", "Z2")}
    assert [node[2] for node in found["low"]["nodes"]] == [0] * 8 + [1] * 2
    assert [node[2] for node in found["high"]["nodes"]] == [1, 1]
    assert found["unused"] == []


def test_edges_that_do_not_come_back_are_marked_at_the_level_where_they_are():
    lost = without(CHAIN, ("X5", "Z2"))
    support = summarise(count(CHAIN, halves(CHAIN, lost), SAMPLES), None, None)
    found = payload(support)
    assert [edge for edge, (_, weak) in by_name(found["low"]).items() if weak] == [("X5", "Z2")]
    assert [edge for edge, (_, weak) in by_name(found["high"]).items() if weak] == [("Z1", "Z2")]


def test_a_variable_without_an_edge_is_named_but_has_no_place():
    pruned = without(CHAIN, ("X1", "Z1"))
    found = page_data(pruned, DATA, edge_strengths(pruned, DATA), None)
    assert found["unused"] == ["X1"]
    assert "X1" not in {name for _, name, *_ in found["low"]["nodes"]}


@given(st.dictionaries(st.text(), st.text(), max_size=3))
def test_what_is_embedded_is_read_back_and_holds_no_markup(value):
    text = embedded({"value": value})
    assert json.loads(text) == {"value": value}
    assert not set("<>&\u2028\u2029") & set(text)


def test_what_is_not_finite_is_refused():
    with pytest.raises(InvalidInputError, match="nothing finite to report"):
        embedded({"value": float("nan")})
