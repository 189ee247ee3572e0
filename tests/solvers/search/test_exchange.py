"""Every factor's place for every promising candidate."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import LINEAR, children, linear, measured, nothing_known
from ucad.solvers.search.exchange import exchange
from ucad.solvers.search.refinement import fit_variables


@pytest.fixture(scope="module")
def data():
    return measured()


def exchanged(data, model, pool=()):
    return exchange(data, model, list(pool), nothing_known(), LINEAR, LINEAR)


def test_a_factor_missing_from_the_pool_takes_the_place_of_one_that_fits_noise(data):
    """x9 → x10 is nothing; x1 → x4, x5 was overlooked."""
    factors = [linear(data, [0], [1.0]), linear(data, [9], [1.0])]
    model = fit_variables(data, factors, children([2, 3], [10]), LINEAR)
    better = exchanged(data, model)
    assert better.score > model.score
    assert np.flatnonzero(better.R[:, 0]).tolist() == [2, 3]
    assert set(np.flatnonzero(better.Q[:, 1] | better.R[:, 1])) == {1, 4, 5}


def test_a_model_that_is_right_is_left_alone(data):
    factors = [linear(data, [k], [1.0]) for k in (0, 1)]
    model = fit_variables(data, factors, children([2, 3], [4, 5]), LINEAR)
    assert exchanged(data, model, factors) is model
