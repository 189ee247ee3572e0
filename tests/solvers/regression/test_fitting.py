"""Functions fitted by least squares."""

from dataclasses import replace

import numpy as np
import pytest

from ucad.scm.families import AFFINE, EMPTY, NETWORK, SPLINE
from ucad.solvers.regression.fitting import (
    ROUGH,
    THOROUGH,
    Fitter,
    Regression,
    distinct,
    subset,
    unit_variance,
)

NET = Fitter(family=NETWORK, effort=ROUGH, floor=1e-3, penalty=10.0)
LINE = replace(NET, family=AFFINE)
BOTH = np.array([0, 1])


def nonlinear_data(n_samples=800, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_samples, 5))
    return x, np.tanh(x[:, 0] + x[:, 1]) - np.tanh(2 * x[:, 1])


def everything(y):
    return Regression(y, np.ones(len(y)))


def test_a_network_is_fitted_to_a_network_and_a_line_is_not():
    x, y = nonlinear_data()
    assert everything(y).error(NET.fit(x, BOTH, everything(y)), x) < 5e-3 * y.var()
    assert everything(y).error(LINE.fit(x, BOTH, everything(y)), x) > 0.1 * y.var()


def test_affine_fits_are_weighted_least_squares():
    rng = np.random.default_rng(0)
    x, weights = rng.standard_normal((100, 3)), rng.random(100)
    y = x @ [1.0, 2.0, 0.0] + rng.standard_normal(100)
    fitted = LINE.fit(x, np.array([0, 2]), Regression(y, weights))
    design = np.column_stack([x[:, [0, 2]], np.ones(100)])
    normal = design.T @ (weights[:, None] * design)
    expected = np.linalg.solve(normal, design.T @ (weights * y))
    np.testing.assert_allclose(fitted.weights, expected)


@pytest.mark.parametrize("family", [AFFINE, NETWORK, SPLINE])
def test_samples_of_weight_zero_do_not_count(family):
    x, y = nonlinear_data(300)
    weights = np.ones(300)
    weights[:50] = 0
    spoilt = y.copy()
    spoilt[:50] = 1e3
    fitter = replace(NET, family=family)
    one, other, wrong = (
        fitter.fit(x, BOTH, regression).values(x)
        for regression in (Regression(y, weights), Regression(spoilt, weights), everything(spoilt))
    )
    np.testing.assert_allclose(one, other)
    assert not np.allclose(one, wrong)


def test_starting_from_a_fit_never_makes_it_worse():
    x, y = nonlinear_data()
    barely = replace(ROUGH, n_steps=3)
    first = replace(NET, effort=barely).fit(x, BOTH, everything(y))
    again = NET.fit(x, BOTH, everything(y), first)
    assert everything(y).error(again, x) <= everything(y).error(first, x)


def test_a_short_fit_is_not_exact_and_another_goes_on_from_it():
    x, y = nonlinear_data()
    short = NET.briefly.fit(x, BOTH, everything(y))
    whole = NET.fit(x, BOTH, everything(y), short)
    assert everything(y).error(whole, x) < everything(y).error(short, x) < 0.05 * y.var()


def test_a_start_of_another_family_is_not_used():
    x, y = nonlinear_data(200)
    line = LINE.fit(x, BOTH, everything(y))
    fitted = NET.fit(x, BOTH, everything(y), line)
    np.testing.assert_array_equal(fitted.weights, NET.fit(x, BOTH, everything(y)).weights)


def test_a_function_without_parents_is_the_weighted_mean():
    y = np.array([1.0, 2.0, 9.0])
    fitted = LINE.fit(np.zeros((3, 1)), EMPTY.parents, Regression(y, np.array([1.0, 1.0, 0.0])))
    np.testing.assert_allclose(fitted.values(np.zeros((2, 1))), 1.5)


def test_unit_variance_scales_functions_and_only_centres_constant_ones():
    x, y = nonlinear_data()
    scaled = unit_variance(NET.fit(x, BOTH, everything(y)), x).values(x)
    assert scaled.mean() == pytest.approx(0, abs=1e-5)
    assert scaled.std() == pytest.approx(1, abs=1e-5)
    constant = EMPTY.affine(1.0, 2.0)
    assert (unit_variance(constant, x).values(x) == 0).all()


def test_doubles_up_to_sign_and_scale_are_left_out_and_others_stay():
    x, y = nonlinear_data()
    f = LINE.fit(x, BOTH, everything(y))
    other = LINE.fit(x, BOTH, everything(x[:, 0]))
    assert distinct([f, f.affine(-3.0, 1.0)], x) == [f]
    assert len(distinct([f, other], x)) == 2


def test_a_regular_subset_has_the_size_asked_for():
    assert subset(np.arange(10), 20).tolist() == list(range(10))
    assert subset(np.arange(10), 4).tolist() == [0, 3, 6, 9]


def test_a_stuck_network_is_started_again_and_a_noisy_one_is_not():
    x, y = nonlinear_data(600)
    fitter = replace(NET, effort=THOROUGH)
    stuck = replace(NET, effort=replace(ROUGH, n_steps=4)).fit(x, BOTH, everything(y))
    floor = everything(y).error(stuck, x) / 5
    better = replace(fitter, floor=floor).refit_stuck(x, stuck, everything(y))
    assert everything(y).error(better, x) < everything(y).error(stuck, x)
    again = replace(fitter, floor=floor).refit_stuck(x, stuck, everything(y), noisy=True)
    assert everything(y).error(again, x) < everything(y).error(stuck, x)
    noisy = replace(fitter, floor=everything(y).error(stuck, x) / 1000)
    assert noisy.refit_stuck(x, stuck, everything(y)) is stuck


def test_noise_that_is_as_small_as_the_error_of_a_stuck_network_is_left_alone():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 2))
    y = np.tanh(x[:, 0] + x[:, 1]) + 0.1 * rng.standard_normal(2000)
    fitted = NET.fit(x, BOTH, everything(y))
    fitter = replace(NET, floor=everything(y).error(fitted, x) / 5)
    assert fitter.refit_stuck(x, fitted, everything(y), noisy=True) is fitted


def test_the_nats_of_a_smaller_error_are_half_its_log_odds_per_sample():
    y = everything(np.zeros(100))
    assert LINE.nats(y, 0.5, 0.5) == 0
    assert LINE.nats(y, 0.5, 0.25) == pytest.approx(50 * np.log(0.501 / 0.251))
