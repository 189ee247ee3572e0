"""What came back, as the report shows it."""

import pytest

from tests.consensus.made_fits import CHAIN, SAMPLES, halves, only, without, without_regimes
from ucad.consensus.consensus import summarise
from ucad.consensus.counting import count
from ucad.consensus.support import Graph
from ucad.report.support_panel import panel, sentence_mark, weak_edges

LOST = without(CHAIN, ("Z1", "X5"))


def support_of(model, *fits, left_out=()):
    counts = count(model, [*halves(*fits), *without_regimes(*left_out)], SAMPLES)
    return summarise(counts, None, None, n_failed=3)


SUPPORT = support_of(CHAIN, *[CHAIN] * 8, LOST, LOST, left_out=[CHAIN])


def test_weak_edges_are_those_of_the_model_below_the_threshold():
    assert weak_edges(SUPPORT, Graph.R) == {("Z1", "X5")}
    assert weak_edges(SUPPORT, Graph.Q) == set()
    assert weak_edges(None, Graph.R) == set()
    new = support_of(LOST, *[CHAIN] * 2, *[LOST] * 8)
    assert weak_edges(new, Graph.R) == set()  # Z1 → X5 is seldom found, but not in the model


def test_only_a_factor_that_does_not_come_back_is_marked():
    rare = support_of(CHAIN, *[CHAIN] * 3, only(CHAIN, "Z1"))
    assert sentence_mark(rare, "Z1") == ""
    assert "75% of the fits on half" in sentence_mark(rare, "Z2")
    assert "0% of the fits" in sentence_mark(rare, "Z9")
    assert sentence_mark(None, "Z2") == ""


def test_the_panel_counts_fits_by_their_kind():
    shown = panel(SUPPORT)
    assert (shown["n_halves"], shown["n_without"], shown["n_failed"]) == (10, 1, 3)
    assert shown["may_be_claimed"] is False


def test_rows_are_marked_by_what_is_stable_and_what_the_model_has():
    (_, R, _, B) = panel(SUPPORT)["graphs"]
    marks = {row["edge"]: row["mark"] for row in R["rows"]}
    assert marks == {
        "Z1 → X5": "not stable",
        **dict.fromkeys(("Z1 → X6", "Z2 → X7", "Z2 → X8"), "stable"),
    }
    assert [row["edge"] for row in B["rows"]] == ["Z1 → Z2"]
    found = support_of(LOST, *[CHAIN] * 10)
    marks = {row["edge"]: row["mark"] for row in panel(found)["graphs"][1]["rows"]}
    assert marks["Z1 → X5"] == "stable, but not in the model"


def test_edges_that_are_neither_stable_nor_of_the_model_are_not_shown():
    found = support_of(LOST, *[CHAIN] * 5, *[LOST] * 5)
    assert found.edge("R", "Z1", "X5").support == 0.5
    assert "Z1 → X5" not in {row["edge"] for row in panel(found)["graphs"][1]["rows"]}


@pytest.mark.parametrize("graph", Graph)
def test_every_graph_has_its_own_error_control(graph):
    shown = panel(SUPPORT)["graphs"][list(Graph).index(graph)]
    control = SUPPORT.control[graph]
    assert (shown["n_above"], shown["expected_false"]) == (control.n_above, control.expected_false)
