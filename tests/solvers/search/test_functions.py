"""Functions fitted by least squares."""

import numpy as np
import pytest
import torch

from ucad.solvers.search.functions import (
    Function,
    FunctionConfig,
    Regression,
    distinct,
    fit_function,
    unit_variance,
)

MLP = FunctionConfig(hidden=8, n_steps=40)


def nonlinear_data(n_samples=1500, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_samples, 5))
    return x, np.tanh(x[:, 0] + x[:, 1]) - np.tanh(2 * x[:, 1])


def everything(y):
    return Regression(y, np.ones(len(y)))


def test_a_network_is_fitted_to_a_network():
    x, y = nonlinear_data()
    fitted = fit_function(x, np.array([0, 1]), everything(y), MLP)
    assert np.mean((fitted.values(x) - y) ** 2) < 1e-3 * y.var()


def test_the_gradient_is_the_derivative():
    x, y = nonlinear_data(200)
    f = fit_function(x, np.array([0, 1]), everything(y), MLP)
    u = torch.tensor(x[:, f.parents], requires_grad=True)
    w1, b1, w2 = (torch.tensor(part) for part in (f.w1, f.b1, f.w2))
    ((u @ w1.T + b1).tanh() @ w2).sum().backward()
    np.testing.assert_allclose(f.gradient(x), u.grad.numpy(), atol=1e-5)


def test_affine_fits_are_weighted_least_squares():
    rng = np.random.default_rng(0)
    x, weights = rng.standard_normal((100, 3)), rng.random(100)
    y = x @ [1.0, 2.0, 0.0] + rng.standard_normal(100)
    fitted = fit_function(x, np.array([0, 2]), Regression(y, weights), FunctionConfig(hidden=0))
    design = np.column_stack([x[:, [0, 2]], np.ones(100)])
    normal = design.T @ (weights[:, None] * design)
    expected = np.linalg.solve(normal, design.T @ (weights * y))
    np.testing.assert_allclose([*fitted.w2, fitted.b2], expected)


def test_samples_of_weight_zero_do_not_count():
    x, y = nonlinear_data(400)
    weights = np.ones(400)
    weights[:50] = 0
    spoilt = y.copy()
    spoilt[:50] = 1e3
    one = fit_function(x, np.array([0, 1]), Regression(y, weights), MLP)
    other = fit_function(x, np.array([0, 1]), Regression(spoilt, weights), MLP)
    np.testing.assert_allclose(one.values(x), other.values(x))


def test_starting_from_a_fit_never_makes_it_worse():
    x, y = nonlinear_data()
    first = fit_function(x, np.array([0, 1]), everything(y), FunctionConfig(hidden=8, n_steps=3))
    again = fit_function(x, np.array([0, 1]), everything(y), MLP, start=first)
    assert np.mean((again.values(x) - y) ** 2) <= np.mean((first.values(x) - y) ** 2)


def test_unit_variance_and_constant_functions():
    x, y = nonlinear_data()
    scaled = unit_variance(fit_function(x, np.array([0, 1]), everything(y), MLP), x).values(x)
    assert scaled.mean() == pytest.approx(0, abs=1e-6)
    assert scaled.std() == pytest.approx(1)
    constant = Function(np.array([], dtype=np.int64), None, None, np.zeros(0), 2.0)
    assert np.isfinite(unit_variance(constant, x).values(x)).all()


def test_doubles_up_to_sign_and_scale_are_left_out():
    x, y = nonlinear_data()
    f = fit_function(x, np.array([0, 1]), everything(y), MLP)
    assert distinct([f, f.affine(-3.0, 1.0)], x) == [f]
