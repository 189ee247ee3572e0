"""Normal noise, against scipy."""

import numpy as np
import torch
from scipy import stats

from ucad.scm import GAUSSIAN, LinearMechanism
from ucad.scm.noise.base import Given


def t(values):
    return torch.tensor(values, dtype=torch.float64)


F = LinearMechanism(t([[2.0], [-1.0]]), t([0.5, 3.0]))
Z = t([[0.0], [1.0], [-2.0]])
SCALE = np.array([0.5, 2.0])
MEAN = F(Z).numpy()
GIVEN = Given(F, Z, t(SCALE))
X = np.array([[0.4, 3.3], [1.0, 7.0], [-9.0, 5.0]])


def test_the_likelihood_is_that_of_scipy():
    found = GAUSSIAN.log_prob(t(X), GIVEN, floor=0.0)
    np.testing.assert_allclose(found, stats.norm.logpdf(X, MEAN, SCALE))


def test_a_variance_below_the_floor_counts_as_the_floor():
    found = GAUSSIAN.log_prob(t(X), GIVEN, floor=1.0)
    np.testing.assert_allclose(found, stats.norm.logpdf(X, MEAN, [1.0, 2.0]))


def test_a_value_lies_at_the_quantile_at_which_it_is_drawn():
    quantile = np.array([[0.1, 0.5], [0.9, 0.001], [0.4, 0.7]])
    x = GAUSSIAN.draw(t(quantile), GIVEN)
    np.testing.assert_allclose(x, stats.norm.ppf(quantile, MEAN, SCALE))
    np.testing.assert_allclose(GAUSSIAN.quantile_residual(x, GIVEN), stats.norm.ppf(quantile))


def test_some_targets_have_their_own_scale():
    some = Given(F, Z, t(SCALE), torch.tensor([1]))
    whole = GAUSSIAN.log_prob(t(X), GIVEN, floor=0.0)
    found = GAUSSIAN.log_prob(t(X[:, 1:]), some, floor=0.0)
    np.testing.assert_allclose(found, whole[:, 1:])


def test_without_noise_a_residual_of_zero_is_zero():
    exact = Given(F, Z, t([0.0, 0.0]))
    assert (GAUSSIAN.quantile_residual(F(Z), exact) == 0).all()
