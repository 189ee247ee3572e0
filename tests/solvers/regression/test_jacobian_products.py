"""JᵀJ and Jᵀe of networks, beside the Jacobian itself."""

import numpy as np
import pytest

from ucad.scm.families import NETWORK
from ucad.solvers.regression.jacobian_products import (
    MIN_INPUTS,
    jacobian_products,
    upper_products,
)


def problem(n_inputs, *, wide=False):
    rng = np.random.default_rng(n_inputs)
    x = rng.standard_normal((300, n_inputs + 2)).astype(np.float32)
    parents = np.arange(n_inputs) + 1
    y, w = rng.standard_normal(300), rng.uniform(0.0, 2.0, 300).astype(np.float32)
    function = NETWORK.start(parents, x[:, parents], y, w, 0, wide=wide)
    return function, x, w, y


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("n_inputs", [1, MIN_INPUTS - 1, MIN_INPUTS, 2 * MIN_INPUTS])
def test_sums_are_those_of_the_jacobian_whatever_way_they_are_made(n_inputs, wide, is_weighted):
    function, x, w, e = problem(n_inputs, wide=wide)
    J = function.jacobian(x).astype(np.float64)
    J = J * w[:, None] if is_weighted else J
    found = jacobian_products(function, x)(function, w if is_weighted else None, e)
    size = np.abs(J.T @ J).max()
    np.testing.assert_allclose(found.gram, J.T @ J, atol=1e-5 * size)
    np.testing.assert_allclose(found.pull, J.T @ e, atol=1e-5 * size)


def test_one_object_serves_other_weights_of_the_same_inputs():
    function, x, w, e = problem(MIN_INPUTS)
    products = jacobian_products(function, x)
    before = products(function, w, e)
    other = function.with_weights(function.weights * 0.5)
    J = other.jacobian(x).astype(np.float64) * w[:, None]
    found = products(other, w, e)
    np.testing.assert_allclose(found.gram, J.T @ J, atol=1e-5 * np.abs(J.T @ J).max())
    assert not np.allclose(found.gram, before.gram, rtol=1e-3)


def test_the_product_of_every_pair_is_there_once():
    parts = np.arange(12.0).reshape(3, 4)
    first, second = np.triu_indices(3)
    np.testing.assert_array_equal(upper_products(parts), parts[first] * parts[second])
