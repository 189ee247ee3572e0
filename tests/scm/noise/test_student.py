"""Student's t noise, against scipy."""

import numpy as np
import pytest
import torch
from scipy import stats

from ucad.errors import InvalidInputError
from ucad.scm import LinearMechanism, StudentT
from ucad.scm.noise.base import Given


def t(values):
    return torch.tensor(values, dtype=torch.float64)


F = LinearMechanism(t([[2.0], [-1.0]]), t([0.5, 3.0]))
Z = t([[0.0], [1.0], [-2.0]])
NU, RATIO, SCALE = np.array([3.0, 8.0]), np.array([0.6, 0.9]), np.array([0.5, 2.0])
NOISE = StudentT(t(NU), t(RATIO))
GIVEN = Given(F, Z, t(SCALE))
MEAN = F(Z).numpy()
X = np.array([[0.4, 3.3], [1.0, 7.0], [-9.0, 5.0]])


def test_the_likelihood_is_that_of_scipy():
    found = NOISE.log_prob(t(X), GIVEN, floor=0.0)
    np.testing.assert_allclose(found, stats.t.logpdf(X, NU, MEAN, SCALE * RATIO))


def test_a_spread_below_the_floor_counts_as_the_floor():
    found = NOISE.log_prob(t(X), GIVEN, floor=1.0)
    np.testing.assert_allclose(found, stats.t.logpdf(X, NU, MEAN, [1.0, 1.8]))


def test_a_value_lies_at_the_quantile_at_which_it_is_drawn():
    quantile = np.array([[0.1, 0.5], [0.9, 0.001], [0.4, 0.7]])
    x = NOISE.draw(t(quantile), GIVEN)
    np.testing.assert_allclose(x, stats.t.ppf(quantile, NU, MEAN, SCALE * RATIO))
    residual = NOISE.quantile_residual(x, GIVEN)
    np.testing.assert_allclose(residual, stats.norm.ppf(quantile), atol=1e-9)


def test_values_far_out_have_finite_residuals():
    far = t(MEAN + np.array([1e12, -1e12]))
    assert torch.isfinite(NOISE.quantile_residual(far, GIVEN)).all()


def test_some_targets_have_their_own_tails():
    some = Given(F, Z, t(SCALE), torch.tensor([1]))
    whole = NOISE.log_prob(t(X), GIVEN, floor=0.0)
    np.testing.assert_allclose(NOISE.log_prob(t(X[:, 1:]), some, floor=0.0), whole[:, 1:])


@pytest.mark.parametrize("freedom", [2.0, 0.0, float("nan")])
def test_tails_without_a_variance_are_refused(freedom):
    with pytest.raises(InvalidInputError, match="at least 2.1. Got"):
        StudentT(t([5.0, freedom]), t([1.0, 1.0]))
