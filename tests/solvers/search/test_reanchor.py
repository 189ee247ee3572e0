"""Giving the place of a factor that is not needed to one that is missing."""

import pytest

from tests.solvers.search.two_factors import LINEAR, children, linear, measured
from ucad.solvers.search.reanchor import reanchor
from ucad.solvers.search.refinement import fit_variables


@pytest.fixture(scope="module")
def data():
    return measured()


@pytest.fixture
def wanted(data):
    return [linear(data, [k], [1.0]) for k in (0, 1)]


def test_a_doubled_factor_makes_room_for_a_missing_one(data, wanted):
    doubled = fit_variables(data, [wanted[0], wanted[0]], children([2], [3]), LINEAR)
    better = reanchor(data, doubled, wanted, LINEAR)
    assert better.score > doubled.score
    assert {int(f.parents[0]) for f in better.factors} == {0, 1}
    assert better.R.any(axis=1)[[2, 3, 4, 5]].all()


def test_a_model_that_is_right_is_left_alone(data, wanted):
    model = fit_variables(data, wanted, children([2, 3], [4, 5]), LINEAR)
    assert reanchor(data, model, wanted, LINEAR) is model
