"""Counts as linear regressions: working responses and what they are worth."""

import numpy as np
import pytest

from ucad.simulate import world_problem
from ucad.solvers.search.count_response import CountSamples, first_response


@pytest.fixture(scope="module")
def drawn():
    """Negative binomial counts at known rates, and those rates."""
    rng = np.random.default_rng(0)
    eta = np.log(4.0) + 0.5 * rng.standard_normal((4000, 2))
    mu = np.exp(eta)
    phi = 0.3
    counted = rng.poisson(mu * rng.gamma(1 / phi, phi, mu.shape)).astype(float)
    free = np.ones(mu.shape, dtype=bool)
    return CountSamples(counted, np.zeros(len(mu)), free), eta


def test_the_dispersion_is_read_off_the_variance_beyond_poissons(drawn):
    counts, eta = drawn
    np.testing.assert_allclose(counts.dispersions(eta), 0.3, atol=0.05)


def test_the_working_response_is_the_rate_on_average_with_weights_of_one_on_average(drawn):
    counts, eta = drawn
    response = counts.response(eta)
    np.testing.assert_allclose((response.target - eta).mean(axis=0), 0.0, atol=0.05)
    np.testing.assert_allclose(response.weights.mean(axis=0), 1.0)


def test_the_true_rates_are_likelier_than_others(drawn):
    counts, eta = drawn
    assert counts.log_likelihood(eta) > counts.log_likelihood(eta + 0.3)


def test_values_that_are_no_counts_are_told():
    assert CountSamples.of(world_problem("planted", seed=0, n_samples=200).train) is None


def test_a_first_response_leaves_clamped_samples_out():
    data = world_problem("counts-50", seed=0, n_samples=400).train
    counts = CountSamples.of(data)
    assert counts is not None
    response = first_response(data, counts, ~np.eye(data.n_variables, dtype=bool))
    assert (response.weights[data.is_left_out] == 0).all()
    assert np.isfinite(response.target).all()
