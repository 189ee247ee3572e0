"""What is seen of true values: each kind of reading by the moments its words promise."""

import numpy as np
import pytest
from scipy.stats import skew

from tests.simulate.worlds.made_worlds import (
    factor_fit,
    free_rows,
    standard_normal,
    world,
)
from ucad.simulate.worlds.measurements import (
    DEPTH_SPREAD,
    LIBRARY,
    MEASUREMENTS,
    OUTLIER_SIZE,
    log_normalised,
    read_counts,
    read_technically,
)
from ucad.simulate.worlds.problem import Measured

X = standard_normal(3000, 8)


def measured(name, level, x=X):
    rng = np.random.default_rng(1)
    return MEASUREMENTS[name][0](level, x.shape[1], rng)(x, rng)


@pytest.mark.parametrize("dispersion", [0.0, 0.2, 1.0])
def test_counts_have_the_mean_of_their_rate_and_a_negative_binomial_spread(dispersion):
    """At depth d and rate λ: mean dλ, variance dλ + φ (dλ)²; depths average 1."""
    found = read_counts(
        np.full((200_000, 1), np.log(6.0)), np.random.default_rng(0), dispersion=dispersion
    )
    depth = np.exp(found.covariates["log_depth"])
    assert depth.mean() == pytest.approx(1.0, abs=0.01)
    assert np.log(depth).std() == pytest.approx(DEPTH_SPREAD, abs=0.01)
    assert found.x.mean() == pytest.approx(6.0, rel=0.01)
    mean = 6.0 * depth
    excess = ((found.x[:, 0] - mean) ** 2 - mean).mean() / (mean**2).mean()
    assert excess == pytest.approx(dispersion, abs=0.03)


def test_logarithms_of_counts_are_taken_at_the_depth_of_each_sample():
    counts = Measured(np.array([[0.0, 4.0], [2.0, 1.0]]), {"log_depth": np.log([2.0, 0.5])})
    expected = np.log([[1.0, 3.0], [5.0, 3.0]])
    np.testing.assert_allclose(log_normalised(counts).x, expected)


@pytest.mark.parametrize("zeros", [0.1, 0.5, 0.9])
def test_raw_counts_have_the_share_of_zeros_asked_for(zeros):
    found = measured("raw-counts", zeros).x
    assert (found == 0).mean() == pytest.approx(zeros, abs=0.02)
    np.testing.assert_array_equal(found, np.rint(found))


def test_counts_rise_with_the_variable_they_read_by_a_doubling_per_spread():
    found = measured("raw-counts", 0.1)
    rate = found.x / np.exp(found.covariates["log_depth"])[:, None]
    up, down = rate[np.abs(X - 1) < 0.3].mean(), rate[np.abs(X + 1) < 0.3].mean()
    assert up / down == pytest.approx(np.exp(2 * 0.7), rel=0.12)


def test_technical_noise_leaves_about_half_of_the_counts_zero_and_libraries_of_their_sizes():
    levels = np.random.default_rng(2).gamma(2.0, size=(400, 500))
    found = read_technically(levels, np.random.default_rng(3))
    np.testing.assert_array_equal(found.x, np.rint(found.x))
    assert 0.4 < (found.x == 0).mean() < 0.6
    total = found.x.sum(axis=1)
    assert np.median(total) < LIBRARY * 500
    assert np.log(total).std() > 0.9 * DEPTH_SPREAD  # drop-outs add to it
    np.testing.assert_allclose(np.exp(found.covariates["log_depth"]), total / total.mean())


def test_low_levels_are_dropped_more_often_than_poisson_alone_would():
    levels = np.tile([0.2, 0.2, 0.2, 8.0], (4000, 1))
    found = read_technically(levels, np.random.default_rng(5)).x
    assert (found[:, 0] == 0).mean() > np.exp(-found[:, 0].mean()) + 1e-3
    assert (found[:, 3] == 0).mean() < 0.05


def test_a_level_of_nothing_is_read_as_nothing():
    assert (read_technically(np.zeros((5, 3)), np.random.default_rng(0)).x == 0).all()


def test_exact_readings_are_the_values():
    np.testing.assert_array_equal(measured("exact", 0.5).x, X)


def test_read_noise_has_the_spread_asked_for_in_every_variable():
    np.testing.assert_allclose((measured("read-noise", 0.5).x - X).std(axis=0), 0.5, rtol=0.06)


def test_rounded_values_are_the_nearest_multiples():
    found = measured("rounded", 0.25).x
    np.testing.assert_allclose(found / 0.25, np.rint(found / 0.25))
    assert np.abs(found - X).max() <= 0.125 + 1e-12


def test_exponential_values_have_the_variable_as_their_logarithm():
    np.testing.assert_allclose(np.log(measured("exponential", 0.8).x), 0.8 * X)


def test_a_sensor_ends_at_its_limit_and_is_exact_below():
    found = measured("saturated", 1.0).x
    inside = np.abs(X) < 1
    np.testing.assert_array_equal(found[inside], X[inside])
    np.testing.assert_array_equal(found[~inside], np.sign(X[~inside]))


def test_outliers_are_so_many_and_so_far_off_to_either_side():
    error = measured("outliers", 0.05).x - X
    off = np.abs(error) > 1e-9
    assert off.mean() == pytest.approx(0.05, abs=0.01)
    np.testing.assert_allclose(np.abs(error[off]), OUTLIER_SIZE)
    assert (error[off] > 0).mean() == pytest.approx(0.5, abs=0.07)


def test_a_batch_moves_all_its_samples_by_the_same():
    found = measured("batches", 0.5)
    offset, batch = found.x - X, found.covariates["batch"]
    assert set(batch) == {0, 1, 2}
    for one in range(3):
        assert offset[batch == one].std(axis=0).max() < 1e-9
    assert 0.3 < np.array([offset[batch == b][0] for b in range(3)]).std() < 0.8


def test_exponential_data_are_positive_and_their_logarithm_is_a_plain_world():
    problem = world("exponential")
    raw = free_rows(problem)
    assert raw.min() > 0
    assert skew(raw).mean() > 2
    assert np.abs(skew(np.log(raw))).max() < 0.6


def test_read_noise_blurs_what_factors_read():
    assert factor_fit(world("read-noise")).max() < 0.95
    assert factor_fit(world("planted")).min() > 1 - 1e-9


def test_some_variables_are_read_with_noise_and_others_exactly():
    rng, x = np.random.default_rng(0), np.zeros((1000, 20))
    measure, violates = MEASUREMENTS["some-read-noise"]
    spread = measure(0.5, 20, rng)(x, rng).x.std(axis=0)
    assert ((spread > 0.4).sum(), (spread == 0).sum()) == (5, 15)
    assert violates == world("some-read-noise").violates


def test_rounded_values_repeat():
    assert max(len(np.unique(column)) for column in world("rounded").test.x.T) < 40


def test_batches_have_offsets_of_their_own():
    problem = world("batches")
    for part in ("train", "validation", "test"):
        batch, x = problem.covariates[part]["batch"], getattr(problem, part).x
        means = np.array([x[batch == b].mean(axis=0) for b in np.unique(batch)])
        assert means.std(axis=0).mean() > 0.3
    shuffled = np.random.default_rng(0).permutation(batch)
    means = np.array([x[shuffled == b].mean(axis=0) for b in np.unique(batch)])
    assert means.std(axis=0).mean() < 0.1


def test_one_entry_in_a_hundred_is_an_outlier():
    assert abs((np.abs(free_rows(world("outliers"))) > 6).mean() - 0.01) < 0.005
    assert (np.abs(free_rows(world("planted"))) < 6).all()


def test_saturated_values_end_at_the_limit():
    raw = free_rows(world("saturated"))
    assert np.abs(raw).max() <= 1 + 1e-9
    assert (np.abs(raw) > 1 - 1e-9).mean() > 0.2
    assert np.abs(free_rows(world("planted"))).max() > 2
