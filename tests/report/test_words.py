"""The words of the report: counts and names are those of the graph."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.claims.models import GRAPH
from tests.report.models import SMALL, random_content, truth_of
from ucad.data import InterventionalData
from ucad.graph import FactorGraph
from ucad.report.strengths import EdgeStrengths, edge_strengths
from ucad.report.words import correlates, cut, factor_card, factor_sentence, overview


def strengths(graph, into=None):
    into = graph.Q * 1.0 if into is None else into
    return EdgeStrengths(into, graph.R * 0.5, graph.Q & False, graph.R & False)


@given(st.text(min_size=1, max_size=60), st.integers(3, 20))
def test_a_cut_name_has_its_beginning_and_its_end_and_fits(name, most):
    found = cut(name, most)
    if len(name) <= most:
        assert found == name
        return
    assert len(found) == most
    head, tail = found.split("…", 1) if name.count("…") == 0 else (found[:1], found[-1:])
    assert name.startswith(head)
    assert name.endswith(tail)


def test_a_sentence_says_what_makes_a_factor_what_it_drives_and_through_what_it_acts():
    into = GRAPH.Q * 1.0
    into[3, 1] = -3.0  # X4 is the strongest parent of Z2
    assert factor_sentence(GRAPH, "Z1", strengths(GRAPH, into)) == (
        "Z1 is made from X1, X2; it drives X5, X6; it acts on Z2 through X5."
    )
    assert factor_sentence(GRAPH, "Z2", strengths(GRAPH, into)) == (
        "Z2 is made from X4, X3, X5; it drives X7, X8."
    )


def test_a_factor_without_variables_of_its_own_is_told():
    Q = np.array([[1, 1], [1, 0], [0, 0], [0, 0]], dtype=bool)
    R = np.array([[0, 0], [0, 0], [1, 1], [0, 1]], dtype=bool)
    graph = FactorGraph(Q, R)
    first, second = (factor_sentence(graph, name, strengths(graph)) for name in ("Z1", "Z2"))
    assert "no variable is driven by this factor alone." in first
    assert "no variable feeds this factor alone." in second


def test_a_card_lists_neighbours_by_strength_with_their_anchors():
    into = GRAPH.Q * 1.0
    into[3, 1] = -3.0
    card = factor_card(GRAPH, "Z2", strengths(GRAPH, into))
    assert [row[:2] for row in card["parents"]] == [["X4", -3.0], ["X3", 1.0], ["X5", 1.0]]
    assert [row[3] for row in card["parents"]] == [True, True, True]
    assert card["acted_on_by"] == [["Z1", ["X5"]]]
    assert card["acts_on"] == []
    assert [row[0] for row in factor_card(GRAPH, "Z1", strengths(GRAPH))["children"]] == [
        "X5",
        "X6",
    ]


def data(n_samples=1200, clamped=(0, 1)):
    acted = np.zeros((n_samples, 8), dtype=bool)
    for number, target in enumerate(clamped):
        acted[number, target] = True
    x = np.random.default_rng(0).standard_normal((n_samples, 8))
    return InterventionalData.from_arrays(x, acted)


def test_the_overview_counts_what_there_is():
    assert overview(GRAPH, data()) == (
        "In 1,200 samples of 8 variables, 2 of which were clamped at some time, 2 factors were "
        "found. The model uses 8 of the variables. One factor acts on another."
    )
    one = FactorGraph(GRAPH.Q[:, :1], GRAPH.R[:, :1])
    told = overview(one, data(), n_samples=5000)
    assert told.startswith("In 5,000 samples")
    assert "1 factor was found. The model uses 4 of" in told
    assert told.endswith("No factor acts on another one.")


def test_a_model_without_factors_is_said_to_have_none():
    empty = np.zeros((8, 0), dtype=bool)
    assert overview(FactorGraph(empty, empty), data()).endswith("no factor was found.")


def test_what_never_varies_goes_with_nothing():
    scm, train = truth_of(SMALL[0])
    flat = replace(train, x=np.ones_like(train.x), is_part=True)
    for entry in correlates(scm, flat, most=3):
        assert [row["correlation"] for row in entry["rows"]] == [0.0] * 3


def test_correlates_say_how_a_variable_stands_to_its_factor():
    scm, train = truth_of(SMALL[0])
    for k, entry in enumerate(correlates(scm, train, most=16)):
        assert len(entry["rows"]) == 16
        sizes = [abs(row["correlation"]) for row in entry["rows"]]
        assert sizes == sorted(sizes, reverse=True)
        for row in entry["rows"]:
            i = scm.graph.variable_index(row["variable"])
            role = {(True, False): "feeds it", (False, True): "driven by it"}
            assert row["role"] == role.get((bool(scm.graph.Q[i, k]), bool(scm.graph.R[i, k])), "")


def test_correlations_are_pearsons():
    scm, data = truth_of(SMALL[0])
    z = scm.state_map(data.x).numpy()
    for k, entry in enumerate(correlates(scm, data)):
        for row in entry["rows"]:
            x = data.x[:, scm.graph.variable_index(row["variable"])]
            expected = np.corrcoef(x, z[:, k])[0, 1]
            assert row["correlation"] == pytest.approx(expected)


def test_a_sentence_names_six_neighbours_and_counts_the_rest():
    content = random_content(40, 1, probability=0.6)
    graph = content.scm.graph
    sentence = factor_sentence(graph, "Z1", edge_strengths(content.scm, content.data))
    assert f"and {int(graph.Q.sum()) - 6} more" in sentence
