"""Whether candidates leave anything of a variable to be read."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import CLASSES, linear, measured, problem_of
from ucad.solvers.search.known_candidates import KnownCandidates


@pytest.fixture(scope="module")
def problem():
    def both(x, noise):
        x[:, 6] = x[:, 0] + x[:, 1] + noise[:, 6]

    return problem_of(measured(both), CLASSES["curved factors"])


def others(j):
    return np.arange(8) != j


def test_nothing_is_left_of_a_second_child(problem):
    known = KnownCandidates(problem, [linear(problem.data, [0], [1])])
    assert not known.leave_something(3, np.arange(8) < 2)


def test_nothing_is_left_of_a_variable_of_two_factors_that_are_both_known(problem):
    first, second = linear(problem.data, [0], [1]), linear(problem.data, [1], [1])
    causes = np.arange(8) < 2
    assert KnownCandidates(problem, [first]).leave_something(6, causes)
    assert not KnownCandidates(problem, [first, second]).leave_something(6, causes)


def test_a_candidate_of_variables_that_are_not_allowed_does_not_count(problem):
    known = KnownCandidates(problem, [linear(problem.data, [2], [1])])
    assert known.leave_something(3, np.isin(np.arange(8), [0, 1]))


def test_without_candidates_everything_is_left(problem):
    assert KnownCandidates(problem).leave_something(2, others(2))


def test_candidates_that_pass_are_kept(problem):
    known, one = KnownCandidates(problem), linear(problem.data, [0], [1])
    assert list(known.keeping([one])) == [one]
    assert known.functions == [one]
