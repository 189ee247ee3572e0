"""A factor that contains another one is taken apart."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import measured, model_of, problem_of
from ucad.solvers.search.improve import improve
from ucad.solvers.search.moves.separate_factors import SeparateFactors


def both(x, noise):
    """x2, x3 hang on both factors, x4, x5 on the second alone."""
    x[:, 2:4] = x[:, [0]] + x[:, [1]] + noise[:, 2:4]


@pytest.fixture(scope="module")
def problem():
    return problem_of(measured(both))


@pytest.fixture(scope="module")
def mixed_model(problem):
    """The first factor is x0 + x1 with the children of both, the second is x1."""
    return model_of(problem, [([0, 1], [1.0, 1.0]), ([1], [1.0])], [2, 3], [4, 5])


def test_the_other_factor_is_taken_out_and_gets_the_children_as_well(problem, mixed_model):
    edits = list(SeparateFactors().propose(problem, mixed_model, range(2)))
    (edit,) = edits
    (factor,) = edit.factors
    assert factor == 0
    assert edit.factors[0].parents.tolist() == [0]
    expected = mixed_model.R.copy()
    expected[[2, 3], 1] = True
    np.testing.assert_array_equal(edit.R, expected)
    np.testing.assert_array_equal(np.flatnonzero(mixed_model.R[:, 1]), [4, 5])


def test_the_model_explains_as_much_with_fewer_parents(problem, mixed_model):
    R = mixed_model.R.copy()
    better = improve(problem, mixed_model, [SeparateFactors()])
    explained = [
        np.abs(np.corrcoef(model.state.T, problem.data.x[:, 0])[:-1, -1]).max()
        for model in (mixed_model, better)
    ]
    if better.score > mixed_model.score:
        assert explained[1] > 0.99 > explained[0]
    np.testing.assert_array_equal(mixed_model.R, R)


def test_only_factors_that_are_asked_for_are_taken_apart(problem, mixed_model):
    assert not list(SeparateFactors().propose(problem, mixed_model, [1]))


def test_factors_that_share_no_parent_are_left_alone(problem):
    apart = model_of(problem, [([0], [1.0]), ([1], [1.0])], [2, 3], [4, 5])
    assert not list(SeparateFactors().propose(problem, apart, range(2)))


def test_a_factor_that_is_no_such_sum_is_left_alone():
    """x0 + x6 shares x6 with x1 + x6, and what is left of it after that is no multiple of x0."""
    problem = problem_of(measured())
    model = model_of(problem, [([0, 6], [1.0, 1.0]), ([1, 6], [1.0, 1.0])], [2, 3], [4, 5])
    for edit in SeparateFactors().propose(problem, model, [0]):
        (function,) = edit.factors.values()
        assert set(function.parents) - {0}, "x0 alone leaves half of it unexplained"
