"""A factor that stands the wrong way round is turned."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import linear, measured, model_of, problem_of
from ucad.solvers.search.improve import improve
from ucad.solvers.search.insertion import emptied
from ucad.solvers.search.moves.replace_factor import ReplaceFactor


def collider(x, noise):
    """x0, x1, x6 → z → x2, which feeds y → x4, x5; the rest is noise."""
    x[:, 2] = x[:, 0] + x[:, 1] + x[:, 6] + 4 * noise[:, 2]
    x[:, 3] = noise[:, 3]
    x[:, 4:6] = x[:, [2]] + noise[:, 4:6]


@pytest.fixture(scope="module")
def problem():
    return problem_of(measured(collider))


@pytest.fixture(scope="module")
def reversed_model(problem):
    """x2 → z → x0, x1, x6: the parents of x2 as its effects."""
    return model_of(problem, [([2], [1.0]), ([2], [1.0])], [0, 1, 6], [4, 5])


def test_a_child_among_the_parents_of_a_factor_becomes_its_child(problem, reversed_model):
    pool = (linear(problem.data, [0, 1, 6], [1.0, 1.0, 1.0]),)
    better = improve(problem, reversed_model, [ReplaceFactor(pool)])
    assert better.score > reversed_model.score
    assert np.flatnonzero(better.Q[:, 0]).tolist() == [0, 1, 6]
    assert np.flatnonzero(better.R[:, 0]).tolist() == [2]
    assert np.flatnonzero(better.R[:, 1]).tolist() == [4, 5]


def test_a_right_factor_is_not_turned(problem):
    right = model_of(problem, [([0, 1, 6], [1.0, 1.0, 1.0]), ([2], [1.0])], [2], [4, 5])
    pool = (linear(problem.data, [2], [1.0]), linear(problem.data, [4], [1.0]))
    assert improve(problem, right, [ReplaceFactor(pool)]).score == pytest.approx(right.score)


def test_the_children_of_an_emptied_factor_keep_their_other_factors(problem):
    both = model_of(problem, [([0], [1.0]), ([1], [1.0])], [2], [2])
    bare = emptied(problem, both, 0, problem.efforts()[0])
    assert not bare.is_used[0]
    assert bare.R[2].tolist() == [False, True]
    assert bare.score < both.score
