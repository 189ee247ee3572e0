"""Starting the function of a factor again."""

from dataclasses import replace

import numpy as np
import pytest

from tests.solvers.search.two_factors import LINEAR, NONLINEAR, children, linear, measured
from ucad.solvers.search import SearchConfig
from ucad.solvers.search.functions import Regression, fit_function, unit_variance
from ucad.solvers.search.refinement import fit_variables
from ucad.solvers.search.restart import restart

THOROUGH = SearchConfig().final(NONLINEAR)


@pytest.fixture(scope="module")
def data():
    """x2 and x3 are a network of x0 and x1, without noise; x4 and x5 are x1 with noise."""

    def network(x, noise):
        rng = np.random.default_rng(0)
        hidden = np.tanh(x[:, :2] @ rng.standard_normal((2, 16)) + rng.standard_normal(16))
        x[:, 2] = x[:, 3] = hidden @ rng.standard_normal(16)
        x[:, 4:6] = x[:, [1]] + noise[:, 4:6]

    return measured(network)


@pytest.fixture(scope="module")
def stuck(data):
    hasty = replace(NONLINEAR.factor_fit, n_steps=6)
    target = Regression(data.x[:, 2], np.ones(data.n_samples))
    factor = fit_function(data.x, np.array([0, 1]), target, hasty)
    factors = [unit_variance(factor, data.x), linear(data, [1], [1.0])]
    return fit_variables(data, factors, children([2, 3], [4, 5]), THOROUGH)


def test_a_function_that_is_stuck_is_fitted_from_another_start(data, stuck):
    assert 1e-4 < stuck.errors[2] < 1e-2
    better = restart(data, stuck, THOROUGH)
    assert better.score > stuck.score + 100
    assert better.errors[2] < stuck.errors[2] / 2
    assert better.factors[1] is stuck.factors[1]


def test_other_factors_and_linear_ones_are_left_alone(data, stuck):
    assert restart(data, stuck, THOROUGH, only=[1]) is stuck
    assert restart(data, stuck, LINEAR) is stuck
