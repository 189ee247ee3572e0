"""What tasks will take: learned from those that differ in their seed, scaled from the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucad.sweep import costs as module
from ucad.sweep.costs import Budget, Costs

seconds = st.lists(st.floats(0.01, 100), min_size=1, max_size=5)


@given(seconds)
def test_tasks_that_differ_in_their_seed_alone_take_the_mean_of_each_other(taken):
    costs = Costs(guess=lambda _task: 1e9)
    for seed, one in enumerate(taken):
        costs.observe({"n": 1, "seed": seed}, one)
    assert costs.estimate({"n": 1, "seed": 99}) == pytest.approx(sum(taken) / len(taken))
    assert costs.estimate({"n": 1}) == costs.estimate({"n": 1, "seed": 0})


@given(seconds)
def test_other_tasks_take_their_guess_times_how_far_guesses_were_off(taken):
    costs = Costs(guess=lambda task: task["n"])
    for n, one in enumerate(taken, start=1):
        costs.observe({"n": n}, one)
    factor = sum(taken) / sum(range(1, len(taken) + 1))
    assert costs.estimate({"n": 40}) == pytest.approx(40 * factor)


def test_before_anything_was_measured_the_guess_counts():
    assert Costs(guess=lambda task: 3.0 * task["n"]).estimate({"n": 2}) == 6.0
    assert Costs().estimate({"n": 2}) == 1.0


def test_guesses_of_nothing_say_nothing():
    costs = Costs(guess=lambda _task: 0.0)
    costs.observe({"n": 1}, 5.0)
    assert costs.estimate({"n": 2}) == 0.0
    assert costs.estimate({"n": 1}) == 5.0


@pytest.mark.parametrize(("now", "left"), [(100.0, 10.0), (107.5, 2.5), (112.0, -2.0)])
def test_a_budget_runs_from_when_it_was_made(monkeypatch, now, left):
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    assert Budget(10.0, started=100.0).left == left
