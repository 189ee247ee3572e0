"""Answers are ordered from good to bad, and names and numbers read well in sentences."""

from __future__ import annotations

from itertools import permutations

import pytest

from ucad.claims.answers import Answer, Claim, figure, listed, worst


def test_the_worst_answer_does_not_depend_on_the_order():
    order = (Answer.YES, Answer.PARTLY, Answer.UNKNOWN, Answer.NO)
    for size in range(1, 5):
        assert all(worst(some) is some_worst(some, order) for some in permutations(order, size))


def some_worst(some, order):
    return order[max(order.index(one) for one in some)]


def test_no_answers_at_all_are_a_yes():
    assert worst([]) is Answer.YES


def test_not_knowing_is_worse_than_partly_and_better_than_no():
    assert worst([Answer.PARTLY, Answer.UNKNOWN]) is Answer.UNKNOWN
    assert worst([Answer.NO, Answer.UNKNOWN]) is Answer.NO


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], "none"),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (list("abcdef"), "a, b, c, d, e and f"),
        (list("abcdefgh"), "a, b, c, d, e, f and 2 more"),
    ],
)
def test_names_are_joined_as_in_a_sentence(names, text):
    assert listed(names) == text
    assert listed(iter(names)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (999.4, "999"), (-1234.5, "-1,234"), (1e9, "1e+09"), (0.000123, "0.000123")],
)
def test_numbers_have_three_figures_or_their_thousands(value, text):
    assert figure(value) == text


def test_claims_do_not_share_their_details():
    first, second = (Claim("k", "q?", Answer.YES, "t.", "s") for _ in range(2))
    assert first.details is not second.details
