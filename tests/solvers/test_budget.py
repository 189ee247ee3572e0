"""A budget, by a clock that is moved by hand."""

import pytest

from ucad.errors import InvalidInputError
from ucad.solvers import budget as module
from ucad.solvers.budget import Budget, BudgetEndedError


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_it_is_over_once_its_seconds_have_passed(clock):
    budget = Budget(5.0)
    clock[0] += 4.9
    assert not budget.is_over
    assert not budget.cut_short
    budget.check()
    clock[0] += 0.2
    assert budget.is_over
    assert budget.cut_short
    with pytest.raises(BudgetEndedError):
        budget.check()
    assert budget.seconds == pytest.approx(5.1)


def test_time_that_passes_unasked_cuts_nothing_short(clock):
    budget = Budget(5.0)
    clock[0] += 100
    assert not budget.cut_short


def test_without_a_limit_it_is_never_over(clock):
    budget = Budget()
    clock[0] += 1e9
    budget.check()
    assert not budget.is_over


def test_it_says_what_ended_and_what_to_do():
    assert Budget(2.5).reason == "The budget of 2.5 s ended."
    assert "max_seconds" in Budget(2.5).advice


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_budget_that_makes_no_sense_is_refused(seconds):
    with pytest.raises(InvalidInputError, match="'max_seconds' parameter"):
        Budget(seconds)
