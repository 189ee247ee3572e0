"""What may be claimed follows from the answers: every doubt lowers it, and none without reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ucad.claims.answers import Answer, Claim
from ucad.claims.certificate import CLAIMABLE
from ucad.claims.suggestions import Suggestion
from ucad.claims.verdict import REFUTING, permissions, verdict

DETAILS = {
    "left": {"smallest_share_seen": 0.05, "below_resolution": [], "findings": []},
    "edges": {"unsupported": [], "cancelled": []},
    "directions": {"contradicted": 0, "by_orientation_only": 0, "by_acting_on_the_effect": 0},
    "distinct": {"explain_nothing": []},
    "scale": {"with_shared_noise": []},
    "feedback": {"n_pairs": 9, "smallest_correlation_seen": 0.06},
}
KEYS = (
    *("fit", "left", "clamps", "upstream", "edges", "acyclic", "directions", "anchors", "unique"),
    *("distinct", "scale", "exact", "effects", "error", "regimes", "noise", "feedback"),
)
GOOD = {
    key: Claim(key, f"Is {key} good?", Answer.YES, f"Text of {key}.", "-", DETAILS.get(key, {}))
    for key in KEYS
}
WHATS = tuple(CLAIMABLE)


def given(changes=None, *, held_out=True, guesses=(), **details):
    """Permissions where some answers differ from yes, or some details from the good ones."""
    found = dict(GOOD)
    for key, answer in (changes or {}).items():
        found[key] = replace(found[key], answer=answer)
    for key, other in details.items():
        found[key] = replace(found[key], details={**found[key].details, **other})
    return permissions(found, held_out=held_out, guesses=guesses)


def answers(permitted):
    return {one.what: one.answer for one in permitted}


def test_good_answers_permit_everything_in_the_order_to_read_it():
    permitted = given()
    assert tuple(one.what for one in permitted) == WHATS
    assert all(permitted)
    assert verdict(permitted, ()).startswith("May be claimed: what each factor is made from")


@pytest.mark.parametrize(
    "key", ["fit", "left", "clamps", "upstream", "feedback", "noise", "acyclic"]
)
def test_what_refutes_the_model_refuses_graph_directions_factors_and_values(key):
    found = answers(given({key: Answer.NO}))
    assert {found[what] for what in WHATS[:4]} == {Answer.NO}
    assert found["predictions"] is (Answer.NO if key == "clamps" else Answer.PARTLY)
    text = verdict(given({key: Answer.NO}), ())
    assert f"may not be claimed. {REFUTING[key]}" in text


def test_a_claimed_graph_says_what_feedback_would_have_gone_unnoticed():
    graph = given()[0]
    assert any("noticed from 0.4% of their noise on" in text for text in graph.conditions)
    alone = given(feedback={"n_pairs": 0})[0]
    assert not any("of their noise on" in text for text in alone.conditions)


def test_no_edge_of_worth_refuses_the_graph_and_some_without_worth_are_left_out():
    assert answers(given({"edges": Answer.NO}))["graph"] is Answer.NO
    permitted = given({"edges": Answer.PARTLY}, edges={"unsupported": ["X1 → Z1"]})
    for one in permitted[:2]:  # the graph and its directions
        assert one.answer is Answer.PARTLY
        assert "It may be claimed only without the edge X1 → Z1." in one.conditions


def test_values_carry_what_is_doubtful_about_their_factors():
    permitted = given({}, edges={"cancelled": ["X1"]})
    values = next(one for one in permitted if one.what == "values")
    assert values.answer is Answer.PARTLY
    assert any("cancel" in condition for condition in values.conditions)


@pytest.mark.parametrize(
    ("changes", "options", "answer", "reason"),
    [
        ({"left": Answer.UNKNOWN}, {}, Answer.UNKNOWN, "Text of left."),
        ({"feedback": Answer.UNKNOWN}, {}, Answer.PARTLY, "Text of feedback."),
        ({}, {"left": {"below_resolution": ["X9"]}}, Answer.PARTLY, "too little of X9"),
        ({}, {"left": {"findings": [{"level": 0}]}}, Answer.PARTLY, "shape of F_X"),
        ({"noise": Answer.UNKNOWN}, {}, Answer.PARTLY, "Text of noise."),
        ({}, {"held_out": False}, Answer.PARTLY, "No samples were held back"),
        ({}, {"guesses": ("where X1 is",)}, Answer.PARTLY, "where X1 is"),
        ({}, {"directions": {"contradicted": 2}}, Answer.NO, "contradict the directions"),
        ({"directions": Answer.PARTLY}, {}, Answer.PARTLY, "directions of some edges are open"),
        ({"unique": Answer.UNKNOWN}, {}, Answer.PARTLY, "other factors, or fewer"),
        ({}, {"distinct": {"explain_nothing": ["Z1"]}}, Answer.PARTLY, "other factors, or fewer"),
    ],
)
def test_each_doubt_lowers_the_graph_and_gives_its_reason(changes, options, answer, reason):
    permitted = given(changes, **options)
    assert permitted[0].answer is answer
    assert reason in " ".join(permitted[0].conditions)
    assert reason in verdict(permitted, ())


def test_findings_at_other_levels_than_the_shape_are_no_doubt_about_the_shape():
    assert given(left={"findings": [{"level": 2}]})[0].answer is Answer.YES


def test_the_verdict_gives_the_reason_that_decided_before_lesser_ones():
    permitted = given(
        left={"below_resolution": ["X9"], "findings": [{"level": 0}]},
        directions={"contradicted": 2},
        held_out=False,
    )
    assert permitted[0].answer is Answer.NO
    assert "contradict the directions" in verdict(permitted, ())


@pytest.mark.parametrize(
    ("rests", "answer"),
    [("by_orientation_only", Answer.PARTLY), ("by_acting_on_the_effect", Answer.PARTLY)],
)
def test_directions_that_rest_on_the_model_need_a_model_that_was_tested(rests, answer):
    assert answers(given({"left": Answer.UNKNOWN}))["directions"] is Answer.YES
    found = answers(given({"left": Answer.UNKNOWN}, directions={rests: 3}))
    assert found["directions"] is answer
    assert answers(given(directions={rests: 3}))["directions"] is Answer.YES


@pytest.mark.parametrize(
    ("key", "answer", "factors"),
    [
        ("anchors", Answer.NO, Answer.PARTLY),
        ("anchors", Answer.PARTLY, Answer.PARTLY),
        ("unique", Answer.NO, Answer.NO),
        ("unique", Answer.UNKNOWN, Answer.PARTLY),
        ("distinct", Answer.NO, Answer.NO),
        ("distinct", Answer.PARTLY, Answer.PARTLY),
        ("directions", Answer.PARTLY, Answer.PARTLY),
    ],
)
def test_factors_need_anchors_uniqueness_and_data_that_tell_them_apart(key, answer, factors):
    found = answers(given({key: answer}))
    assert found["factors"] is factors
    assert found["values"] is factors


def test_values_need_their_own_answer_and_the_factors():
    assert answers(given({"scale": Answer.PARTLY}))["values"] is Answer.PARTLY
    assert answers(given({"scale": Answer.PARTLY}))["factors"] is Answer.YES
    condition = given({"unique": Answer.NO})[3].conditions
    assert condition == ("The factors themselves may not be claimed.",)


@pytest.mark.parametrize(
    ("effects", "regimes", "answer"),
    [
        (Answer.YES, Answer.UNKNOWN, Answer.YES),
        (Answer.UNKNOWN, Answer.PARTLY, Answer.PARTLY),
        (Answer.UNKNOWN, Answer.UNKNOWN, Answer.UNKNOWN),
        (Answer.YES, Answer.NO, Answer.NO),
    ],
)
def test_predictions_are_the_worst_of_what_was_tested(effects, regimes, answer):
    assert answers(given({"effects": effects, "regimes": regimes}))["predictions"] is answer


def test_a_small_error_at_zero_noise_permits_nothing_and_a_large_one_is_a_doubt():
    untested = {"effects": Answer.UNKNOWN, "regimes": Answer.UNKNOWN}
    assert answers(given(untested))["predictions"] is Answer.UNKNOWN
    assert answers(given({"error": Answer.NO}))["predictions"] is Answer.PARTLY


def test_noise_that_children_share_refutes_the_graph():
    permitted = given(scale={"with_shared_noise": ["Z1"]})
    assert answers(permitted)["graph"] is Answer.NO
    assert "children of Z1 share noise" in permitted[0].conditions[0]


def test_paths_that_cancel_leave_the_graph_in_part():
    permitted = given({"edges": Answer.PARTLY}, edges={"cancelled": ["X1 → X3"]})
    assert permitted[0].answer is Answer.PARTLY
    assert "The paths of X1 → X3 cancel" in " ".join(permitted[0].conditions)


def test_a_wrong_shape_of_f_x_leaves_predictions_in_part():
    assert answers(given(left={"findings": [{"level": 0}]}))["predictions"] is Answer.PARTLY
    assert answers(given(left={"findings": [{"level": 2}]}))["predictions"] is Answer.YES


def test_the_verdict_of_a_refused_graph_hands_two_suggestions_on():
    suggested = [Suggestion("factor", 3.0 - at, f"Text {at}. (Seen at X1.)") for at in range(3)]
    text = verdict(given({"left": Answer.NO}), suggested)
    assert "What this suggests: Text 0. Or: Text 1." in text
    assert "Text 2" not in text
    assert "Seen at" not in text


def test_the_verdict_says_what_may_be_claimed_in_full_in_part_and_not():
    text = verdict(given({"scale": Answer.PARTLY, "effects": Answer.NO}), ())
    assert f"In part: {CLAIMABLE['values']}." in text
    assert f"Not: {CLAIMABLE['predictions']}." in text


def test_what_is_not_known_is_not_said_to_be_refused():
    text = verdict(given({"effects": Answer.UNKNOWN, "regimes": Answer.UNKNOWN}), ())
    assert f"Not known: {CLAIMABLE['predictions']}." in text
    assert "Not: " not in text


def test_the_condition_of_values_is_part_of_the_verdict():
    assert "Text of scale." in verdict(given(), ())
    assert "Text of scale." not in verdict(given({"scale": Answer.PARTLY}), ())


def test_an_unknown_graph_is_said_to_be_unknown():
    text = verdict(given({"left": Answer.UNKNOWN}), ())
    assert text == "Whether the graph may be claimed is not known. Text of left."
