"""A density in which no single sample decides, and a spread that outliers do not move."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ucad.claims.robust import log_density, spread
from ucad.scm.factor_scm import VARIANCE_FLOOR


def test_the_density_is_that_of_student_with_four_degrees_of_freedom_but_for_a_constant():
    u = np.linspace(-30, 30, 41)
    constant = stats.t.logpdf(u, 4) - log_density(u)
    np.testing.assert_allclose(constant, constant[0], atol=1e-12)
    assert log_density(np.zeros(1)) == 0


def test_values_whose_square_is_infinite_have_a_density():
    far = log_density(np.array([1e200, -1e300]))
    assert np.isfinite(far).all()
    assert far[1] < far[0] < -1000


@pytest.mark.parametrize("scale", [0.1, 1.0, 50.0])
def test_the_spread_of_normal_errors_is_their_standard_deviation(scale):
    errors = scale * np.random.default_rng(0).standard_normal(40_000)
    assert spread(errors) == pytest.approx(scale, rel=0.02)


@given(st.floats(1e3, 1e300))
def test_a_quarter_of_outliers_hardly_moves_the_spread(size):
    errors = np.random.default_rng(0).standard_normal(400)
    errors[:100] = size
    assert 1.0 < spread(errors) < 1.6


@pytest.mark.parametrize("errors", [[], [0.0, 0.0, 5.0]])
def test_the_spread_is_never_zero(errors):
    assert spread(np.array(errors)) == pytest.approx(VARIANCE_FLOOR**0.5)
