"""Which variables a function should look at."""

import numpy as np

from ucad.data import InterventionalData
from ucad.solvers.search.functions import Function, FunctionConfig, Regression, fit_function
from ucad.solvers.search.sparse import (
    causal_odds,
    fit_sparse_function,
    interventional_gains,
    permutation_price,
)

MLP = FunctionConfig(hidden=8, n_samples=2000)


def everything(y):
    return Regression(y, np.ones(len(y)))


def siblings(n=6000):
    """x0 → y and x0 → x1, where x1 has less noise than x0; both are clamped now and then."""
    rng = np.random.default_rng(0)
    x, clamped = rng.standard_normal((n, 3)), np.zeros((n, 3), dtype=bool)
    clamped[:400, 0] = clamped[400:800, 1] = True
    cause = np.tanh(x[:, 0]) + 0.5 * x[:, 0]
    y = cause + 0.3 * rng.standard_normal(n)
    x[:, 1] = np.where(clamped[:, 1], x[:, 1], y + 0.1 * x[:, 1])
    return InterventionalData.from_arrays(x, clamped), y


def test_a_parent_that_only_acts_through_another_is_found():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4000, 6))
    y = np.tanh(x[:, 0]) * (x[:, 3] ** 2 - 1)
    data = InterventionalData.from_arrays(x)
    fitted = fit_sparse_function(
        data, np.array([0]), everything(y), np.arange(6), FunctionConfig(n_samples=2000)
    )
    assert 3 in fitted.parents


def test_a_useless_parent_is_dropped():
    x = np.random.default_rng(0).standard_normal((2000, 5))
    data = InterventionalData.from_arrays(x)
    y = np.tanh(2 * x[:, 0]) * x[:, 1]
    fitted = fit_sparse_function(data, np.array([0, 1, 4]), everything(y), np.arange(5), MLP)
    assert fitted.parents.tolist() == [0, 1]


def test_the_price_of_an_unused_parent_is_zero():
    x = np.random.default_rng(0).standard_normal((2000, 3))
    f = Function(np.array([0, 2]), None, None, np.array([1.0, 0.0]), 0.0)
    price = permutation_price(x, f, everything(x[:, 0]), floor=1e-3)
    assert price[0] > 100
    assert price[1] == 0


def test_a_sibling_predicts_but_not_where_it_is_clamped_and_a_hidden_parent_does():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((6000, 4))
    y = np.tanh(2 * x[:, 0]) * (x[:, 1] ** 2 - 1) + np.tanh(x[:, 0])
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[:500, 1] = clamped[500:1000, 2] = True
    x[:, 2] = np.where(clamped[:, 2], x[:, 2], y)
    fitted = fit_function(x, np.array([0]), everything(y), MLP)
    gains = interventional_gains(x, fitted, everything(y), clamped)
    assert gains[1] > 20
    assert gains[2] < 5
    assert gains[3] == 0


def test_clamped_samples_tell_a_cause_from_a_sibling():
    data, y = siblings()
    both = fit_function(data.x, np.array([0, 1, 2]), everything(y), MLP)
    odds = causal_odds(data, both, everything(y))
    assert odds[1] < -10
    assert odds[2] == 0
    alone = fit_function(data.x, np.array([0]), everything(y), MLP)
    assert causal_odds(data, alone, everything(y))[0] > 10


def test_a_sibling_that_predicts_best_of_all_is_no_parent():
    data, y = siblings()
    fitted = fit_sparse_function(data, np.array([0, 1]), everything(y), np.arange(3), MLP)
    assert fitted.parents.tolist() == [0]
