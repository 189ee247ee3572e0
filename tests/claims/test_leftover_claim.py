"""Without a finding the answer is yes only if the control shows that enough would be seen."""

from __future__ import annotations

import numpy as np
import pytest

from tests.claims.models import SMALL, System, direct_edge, samples_of
from ucad.claims import leftover_claim as module
from ucad.claims.adequacy import Adequacy, Finding, LeftOver, Level
from ucad.claims.answers import Answer
from ucad.claims.leftover_claim import _answer, _median_explained, _weak_children, nothing_left
from ucad.claims.weights import Weights

SYSTEM = System(scm=SMALL, targets=((0,), (3,), (4,)))
SHAPE = Finding("X3", Level.SHAPE, LeftOver(9.0, 1e-9, 0.1), ((("shape", "its factors"), 1.0),))
GRAPH = Finding("X4", Level.GRAPH, LeftOver(9.0, 1e-9, 0.1), ((("regime", "drug"), 1.0),))


def adequacy_with(*found):
    """A test whose findings are given instead of searched for."""
    adequacy = Adequacy(samples_of(SMALL, SYSTEM, n_samples=100))
    adequacy.__dict__["findings"] = found
    return adequacy


@pytest.mark.parametrize(
    ("found", "share", "explained", "answer", "text"),
    [
        ((), 0.05, 0.5, Answer.YES, "Nothing above 5.0%"),
        ((), 0.05, 0.1, Answer.YES, "Nothing above 5.0%"),
        ((), 0.05, 0.09, Answer.PARTLY, "explain only 9.0%"),
        ((), 0.05, 0.04, Answer.UNKNOWN, "explain only 4.0%"),
        ((), 0.051, 0.9, Answer.PARTLY, "less than 5.1%"),
        ((), 0.1, 0.9, Answer.PARTLY, "less than 10.0%"),
        ((), 0.11, 0.9, Answer.UNKNOWN, "less than 11.0%"),
        ((), None, 0.9, Answer.UNKNOWN, "even 20%"),
        ((SHAPE,), 0.02, 0.5, Answer.YES, "shape of F_X is another one, though, for X3"),
        ((SHAPE, GRAPH), 0.02, 0.5, Answer.NO, "unseen samples of X4 can be predicted"),
    ],
)
def test_the_answer_follows_from_findings_control_and_what_is_explained(
    found, share, explained, answer, text
):
    given = _answer(adequacy_with(*found), share, explained)
    assert given[0] is answer
    assert text.replace(" %", "%") in given[1].replace(" %", "%")


def test_a_finding_is_told_with_its_share_and_its_source():
    text = _answer(adequacy_with(GRAPH), None, 0.5)[1]
    assert "10.0% of the variance of X4, most of it from the regime 'drug' (P = 1.0e-09)" in text


def test_what_is_explained_is_the_median_over_variables_with_factors():
    weights = Weights(samples_of(SMALL, SYSTEM, n_samples=500))
    weights.__dict__["explained"] = np.array([0.0, 0.0, 0.02, 0.4, 0.0])
    assert _median_explained(weights) == pytest.approx(0.21)
    assert _weak_children(weights, 0.05) == ["X3"]
    assert _weak_children(weights, 0.01) == []


def test_a_true_model_with_enough_samples_gets_a_yes():
    samples = samples_of(SMALL, SYSTEM, n_samples=4000)
    claim = nothing_left(Adequacy(samples), Weights(samples), 0)
    assert claim.answer is Answer.YES
    assert claim.details["findings"] == []
    assert claim.details["n_tested"] == 5
    assert claim.details["n_folds"] == 1
    assert claim.details["smallest_share_seen"] <= 0.05


def test_a_direct_edge_gets_a_no_without_a_control(monkeypatch):
    def never(*_):
        raise AssertionError("a refuted model needs no positive control")

    monkeypatch.setattr(module, "smallest_share_seen", never)
    system = System(
        scm=SMALL, targets=((4,),), direct=direct_edge(4, 3, strength=0.8, n_variables=5)
    )
    samples = samples_of(SMALL, system, n_samples=4000)
    claim = nothing_left(Adequacy(samples), Weights(samples), 0)
    assert claim.answer is Answer.NO
    rows = {(row["variable"], row["level"]): row for row in claim.details["findings"]}
    assert rows["X4", 1]["sources"][0]["name"] == "X5"
    assert claim.details["smallest_share_seen"] is None
    levels = [row["level"] for row in claim.details["findings"]]
    assert levels == sorted(levels, key=[1, 0, 2].index)


def test_what_may_go_unnoticed_moves_the_answer_by_one_grade_at_a_time():
    adequacy = adequacy_with()
    grades = [_answer(adequacy, share, 0.8)[0] for share in np.geomspace(0.01, 0.2, 60)]
    order = [Answer.YES, Answer.PARTLY, Answer.UNKNOWN]
    assert [order.index(one) for one in grades] == sorted(order.index(one) for one in grades)
    assert set(grades) == set(order)
