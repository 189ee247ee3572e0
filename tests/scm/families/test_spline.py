"""What only splines claim; what all families do is in test_families.py."""

import numpy as np
import torch

from ucad.scm.families import SPLINE
from ucad.scm.families.spline import KNOTS, N_CURVES


def random_spline(seed=0):
    rng = np.random.default_rng(seed)
    start = SPLINE.start(np.array([0]), np.zeros((1, 1)), np.zeros(1), np.ones(1), 0)
    return start.with_weights(rng.standard_normal(N_CURVES + 1))


def at(points):
    return np.asarray(points, dtype=float)[:, None]


def test_tails_are_straight_and_the_middle_is_not():
    spline = random_spline()
    for tail in ([3.0, 5.0, 9.0], [-9.0, -5.0, -3.0]):
        slope = spline.gradient(at(tail))[:, 0]
        np.testing.assert_allclose(slope, slope[0])
    middle = spline.gradient(at([-1.0, 0.0, 1.0]))[:, 0]
    assert np.ptp(middle) > 1e-3


def test_slopes_are_continuous_at_knots():
    spline = random_spline()
    for knot in KNOTS:
        before, after = spline.gradient(at([knot - 1e-7, knot + 1e-7]))[:, 0]
        assert abs(before - after) < 1e-5


def test_the_lipschitz_constant_is_the_largest_slope():
    for seed in range(20):
        spline = random_spline(seed)
        mechanism = SPLINE.mechanism([spline], 1)
        steepest = np.abs(spline.gradient(at(np.linspace(-4, 4, 20_001)))).max()
        np.testing.assert_allclose(float(mechanism.lipschitz()[0]), steepest, rtol=1e-3)


def test_a_spline_is_the_sum_of_functions_of_one_input_each():
    start = SPLINE.start(np.array([0, 1]), np.zeros((1, 2)), np.zeros(1), np.ones(1), 0)
    both = start.with_weights(np.random.default_rng(0).standard_normal(2 * N_CURVES + 1))
    a, b = np.random.default_rng(1).standard_normal((2, 10))
    zero = np.zeros(10)
    together = both.values(np.c_[a, b]) + both.values(np.c_[zero, zero])
    apart = both.values(np.c_[a, zero]) + both.values(np.c_[zero, b])
    np.testing.assert_allclose(together, apart)
    assert SPLINE.mechanism([], 2)(torch.zeros(3, 2)).shape == (3, 0)
