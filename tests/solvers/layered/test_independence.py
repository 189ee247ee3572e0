"""Axes of least kurtosis."""

import numpy as np
import pytest

from ucad.solvers.layered.independence import excess_kurtosis, independent_axes


def test_the_most_two_valued_direction_comes_first_whatever_the_mixing():
    rng = np.random.default_rng(1)
    sources = np.c_[rng.normal(size=3000), rng.choice([-1.0, 1.0], 3000), rng.uniform(size=3000)]
    z = sources @ rng.normal(size=(3, 3))
    y = z @ independent_axes(z).T
    assert abs(np.corrcoef(y[:, 0], sources[:, 1])[0, 1]) > 0.99
    assert np.all(np.diff(excess_kurtosis(y)) > 0)


@pytest.mark.parametrize("seed", [3, 4])
def test_heavy_tailed_factors_do_not_hide_the_coin(seed):
    """Two samples are sixty standard deviations away, each along a factor of its own."""
    rng, n = np.random.default_rng(0), 3000
    coin = rng.choice([-1.0, 1.0], n) + 0.1 * rng.normal(size=n)
    others = np.where(rng.random((n, 3)) < 0.3, 1.0, -1.0) + 0.2 * rng.normal(size=(n, 3))
    heavy = 0.05 * rng.normal(size=(n, 2))
    heavy[[0, 1], [0, 1]] = 60.0
    z = np.c_[coin, others, heavy] @ rng.normal(size=(6, 6))
    first = z @ independent_axes(z, seed=seed)[0]
    assert abs(np.corrcoef(first, coin)[0, 1]) > 0.99


def test_axes_are_uncorrelated_and_of_variance_one():
    z = np.random.default_rng(2).uniform(size=(2000, 4)) @ np.random.default_rng(3).normal(
        size=(4, 4)
    )
    y = z @ independent_axes(z).T
    assert np.allclose(np.cov(y.T, bias=True), np.eye(4), atol=1e-8)


def test_kurtosis_is_that_of_scipy():
    from scipy.stats import kurtosis

    z = np.random.default_rng(4).exponential(size=(500, 3))
    assert np.allclose(excess_kurtosis(z), kurtosis(z, axis=0))
