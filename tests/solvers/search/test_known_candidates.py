"""Whether candidates leave anything of a variable to be read."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import CLASSES, linear, measured, problem_of
from ucad.solvers.search.known_candidates import KnownCandidates

CAUSES = np.arange(8) < 2


@pytest.fixture(scope="module")
def problem():
    def both(x, noise):
        x[:, 6] = x[:, 0] + x[:, 1] + noise[:, 6]

    return problem_of(measured(both), CLASSES["curved factors"])


def test_nothing_is_left_of_a_second_child(problem):
    known = KnownCandidates(problem, [linear(problem.data, [0], [1])])
    assert not known.leave_something(3, CAUSES, CAUSES)


def test_nothing_is_left_of_a_variable_of_two_factors_that_are_both_known(problem):
    first, second = linear(problem.data, [0], [1]), linear(problem.data, [1], [1])
    assert KnownCandidates(problem, [first]).leave_something(6, CAUSES, CAUSES)
    assert not KnownCandidates(problem, [first, second]).leave_something(6, CAUSES, CAUSES)


def test_a_candidate_counts_only_if_all_its_variables_are_usable(problem):
    known = KnownCandidates(problem, [linear(problem.data, [2], [1])])
    assert known.leave_something(3, CAUSES, CAUSES)


def test_a_usable_variable_need_not_be_on_the_short_list(problem):
    known = KnownCandidates(problem, [linear(problem.data, [0], [1])])
    assert not known.leave_something(3, np.arange(8) == 1, CAUSES)


def test_without_candidates_everything_is_left(problem):
    assert KnownCandidates(problem).leave_something(2, CAUSES, CAUSES)


def test_candidates_that_pass_are_kept(problem):
    known, one = KnownCandidates(problem), linear(problem.data, [0], [1])
    assert list(known.keeping([one])) == [one]
    assert known.functions == [one]
