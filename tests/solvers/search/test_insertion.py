"""A factor taken out of a model, and another put in its place."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import linear, measured, model_of, problem_of
from ucad.solvers.regression.fitting import THOROUGH
from ucad.solvers.search.insertion import children_gained, insertions, without_factor
from ucad.solvers.search.model import unexplained

TRUE = [([0], [1.0]), ([1], [1.0])]


@pytest.fixture(scope="module")
def problem():
    return problem_of(measured())


def test_children_of_a_removed_factor_go_to_others_only_if_that_helps(problem):
    right = model_of(problem, TRUE, [2, 3], [4, 5])
    spare = without_factor(problem, right, 0, THOROUGH)
    assert not spare.is_used[0]
    assert not spare.R[[2, 3]].any()
    twice = model_of(problem, [TRUE[0], TRUE[0]], [2], [3])
    assert without_factor(problem, twice, 0, THOROUGH).R[2, 1]


def test_the_candidate_that_explains_most_comes_first_and_copies_are_left_out(problem):
    spare = without_factor(problem, model_of(problem, TRUE, [2, 3], [4, 5]), 0, THOROUGH)
    pool = [linear(problem.data, [i], [1.0]) for i in (6, 0, 1)]
    found = insertions(problem, spare, 0, pool)[:3]
    assert [one.function.parents.tolist() for one in found] == [[0], [6]]  # x1 is there already
    assert found[0].total > 100 > found[1].total
    assert np.flatnonzero(found[0].gains > 0).tolist() == [2, 3]


def test_what_would_close_a_cycle_gains_nothing(problem):
    model = model_of(problem, TRUE, [], [4, 5])
    left = unexplained(problem, model)
    gains = children_gained(problem, model, 0, linear(problem.data, [4], [1.0]), left)
    assert gains[1] == -np.inf  # x1 → y → x4 → z
    assert gains[4] == -np.inf
    free = model_of(problem, TRUE, [], [])
    left = unexplained(problem, free)
    assert children_gained(problem, free, 0, linear(problem.data, [4], [1.0]), left)[1] > 0
