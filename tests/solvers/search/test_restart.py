"""Starting the function of a factor again."""

from dataclasses import replace

import numpy as np
import pytest

from tests.solvers.search.two_factors import LINEAR, NONLINEAR, children, linear, measured
from ucad.solvers.search import SearchConfig
from ucad.solvers.search.export import as_scm
from ucad.solvers.search.functions import (
    Regression,
    fit_function,
    refit_if_stuck,
    unit_variance,
)
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


def test_a_stuck_function_gets_more_hidden_units_and_a_noisy_one_is_left_alone(data, stuck):
    config = THOROUGH.factor_fit
    target = Regression(data.x[:, 2], np.ones(data.n_samples))
    function = fit_function(data.x, np.array([0, 1]), target, replace(config, n_steps=6))
    wider = refit_if_stuck(data.x, function, target, config)
    assert len(wider.w1) > config.hidden
    assert np.mean((wider.values(data.x) - data.x[:, 2]) ** 2) < 1e-4
    noisy = Regression(data.x[:, 4], np.ones(data.n_samples))
    function = fit_function(data.x, np.array([0, 1]), noisy, config)
    assert refit_if_stuck(data.x, function, noisy, config) is function


def test_functions_of_different_widths_make_one_mechanism(data, stuck):
    wide = restart(data, stuck, THOROUGH)
    narrow = unit_variance(
        fit_function(
            data.x,
            np.array([1]),
            Regression(np.sin(data.x[:, 1]), np.ones(data.n_samples)),
            THOROUGH.factor_fit,
        ),
        data.x,
    )
    model = fit_variables(data, [wide.factors[0], narrow], children([2, 3], [4, 5]), THOROUGH)
    assert len(model.factors[0].w1) != len(model.factors[1].w1)
    np.testing.assert_allclose(
        as_scm(model, data).state_map(data.x).numpy(), model.state, atol=1e-4
    )
