"""Negative binomial readings, against scipy."""

import numpy as np
import pytest
import torch
from scipy import stats

from ucad.scm import CountMechanism, NegativeBinomial
from ucad.scm.noise.base import Given
from ucad.scm.noise.counts import count_log_prob

PHI = 0.4
SCALE, SHIFT = 2.0, 1.0


def t(values):
    return torch.tensor(values, dtype=torch.float64)


def given(log_rate):
    """One target whose logarithm of the rate is the factor itself."""
    F = CountMechanism(t([[1.0]]), t([0.0]), t([PHI]), t([SCALE]), t([SHIFT]))
    return Given(F, t(log_rate)[:, None], t([1.0]))


def law(log_rate):
    return 1 / PHI, 1 / (1 + PHI * np.exp(log_rate))


def reading(count, depth=1.0):
    return SCALE * np.log1p(np.asarray(count) / depth) + SHIFT


def test_probabilities_of_counts_are_those_of_scipy():
    k, phi, mu = np.arange(8.0), 0.4, 1.7
    mine = count_log_prob(
        torch.tensor(k)[:, None],
        torch.full((8, 1), np.log(mu), dtype=torch.float64),
        torch.tensor([phi], dtype=torch.float64),
    )
    wanted = stats.nbinom.logpmf(k, 1 / phi, 1 / (1 + phi * mu))
    np.testing.assert_allclose(mine[:, 0].numpy(), wanted, rtol=1e-10)


def test_values_at_quantiles_are_those_of_counts_in_the_units_of_the_target():
    quantile = np.array([0.01, 0.3, 0.5, 0.9, 0.9999])
    z = np.array([-1.0, 0.0, 1.0, 2.0, 3.0])
    found = NegativeBinomial().draw(t(quantile)[:, None], given(z)).numpy()[:, 0]
    np.testing.assert_allclose(found, reading(stats.nbinom.ppf(quantile, *law(z))))


def test_quantiles_of_nothing_and_of_all_are_finite():
    found = NegativeBinomial().draw(t([[0.0], [1.0]]), given(np.array([1.0, 1.0])))
    assert torch.isfinite(found).all()
    assert found[0] == SHIFT


def test_a_residual_is_normal_at_the_middle_of_its_step():
    count, z = np.array([0.0, 1.0, 5.0]), np.array([0.5, 0.5, 1.0])
    x = t(reading(count))[:, None]
    found = NegativeBinomial().quantile_residual(x, given(z)).numpy()[:, 0]
    middle = stats.nbinom.cdf(count, *law(z)) - stats.nbinom.pmf(count, *law(z)) / 2
    np.testing.assert_allclose(found, stats.norm.ppf(middle))


def two_columns(z):
    """Two targets with the same law, so that the depth of a sample can be read off them."""
    F = CountMechanism(
        t([[1.0], [1.0]]), t([0.0, 0.0]), t([PHI, PHI]), t([SCALE, 1.0]), t([SHIFT, 0.0])
    )
    return Given(F, t(z)[:, None], t([1.0, 1.0]))


@pytest.mark.parametrize("depth", [1.0, 0.5, 2.0])
def test_a_probability_is_that_of_the_count_at_the_depth_of_its_sample(depth):
    """Values are log(1 + count / depth) with counts of mean depth · rate."""
    counts = np.array([[1.0, 3.0], [4.0, 1.0], [1.0, 2.0]])
    z = np.array([0.3, 1.0, -0.5])
    x = np.log1p(counts / depth)
    x[:, 0] = SCALE * x[:, 0] + SHIFT
    found = NegativeBinomial().log_prob(t(x), two_columns(z), floor=1e-8).numpy()
    mu = depth * np.exp(z)[:, None]
    expected = stats.nbinom.logpmf(counts, 1 / PHI, 1 / (1 + PHI * mu))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_probabilities_of_all_counts_add_up_to_one():
    k = torch.arange(3000, dtype=torch.float64)[:, None]
    total = count_log_prob(k, torch.full_like(k, 2.0), t([PHI])).exp().sum()
    assert float(total) == pytest.approx(1.0)
