"""Variables most of whose values are zero: their law against scipy, and the shares asked for."""

import numpy as np
import pytest
from scipy.stats import nbinom, norm

from tests.simulate.worlds.made_worlds import chain_model, world
from ucad.simulate.worlds import planted_problem
from ucad.simulate.worlds.experiment import Doing
from ucad.simulate.worlds.sparse import DISPERSION, SPARSE, sparse_system

N = 20_000


def drawn(emission, zeros):
    system = sparse_system(
        chain_model(), ("linear", "linear"), (emission, zeros), np.random.default_rng(0)
    )
    return system.sample(Doing.nothing(N, 5), np.random.default_rng(1))


@pytest.mark.parametrize("zeros", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("emission", SPARSE)
def test_every_variable_has_the_share_of_zeros_asked_for(emission, zeros):
    x = drawn(emission, zeros).x
    np.testing.assert_allclose((x == 0).mean(axis=0), zeros, atol=0.025)
    assert x.min() == 0


@pytest.mark.parametrize("emission", SPARSE)
def test_factors_have_mean_zero_and_variance_one(emission):
    z = drawn(emission, 0.5).z
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=0.06)
    np.testing.assert_allclose(z.std(axis=0), 1.0, atol=0.08)


def emitted(emission, signal, noise, spread, depth):
    return SPARSE[emission].emit(signal, noise, spread, depth)


def test_counts_are_quantiles_of_a_negative_binomial_law():
    rng = np.random.default_rng(0)
    signal, noise = rng.uniform(-2, 3, (500, 2)), rng.standard_normal((500, 2))
    depth = rng.uniform(0.5, 2.0, (500, 1))
    mean = depth * np.exp(signal)
    size = 1 / DISPERSION
    expected = nbinom.ppf(norm.cdf(noise), size, size / (size + mean))
    found = emitted("sparse-counts", signal, noise, np.ones(2), depth)
    np.testing.assert_allclose(np.expm1(found) * depth, expected, atol=1e-9)


@pytest.mark.parametrize("emission", SPARSE)
def test_the_probability_of_a_zero_is_the_share_of_zeros(emission):
    signal, spread, depth = np.full((N, 1), 0.4), np.array([0.7]), np.full((N, 1), 1.3)
    noise = np.random.default_rng(0).standard_normal((N, 1))
    share = (emitted(emission, signal, noise, spread, depth) == 0).mean()
    told = SPARSE[emission].share_of_zeros(signal[:1], spread, depth[:1])
    assert told.item() == pytest.approx(share, abs=0.012)


def test_extreme_signals_and_noise_stay_finite():
    far = np.array([[50.0, -50.0], [50.0, -50.0]])
    found = emitted(
        "sparse-counts", far, np.array([[40.0, 40.0], [-40.0, -40.0]]), np.ones(2), np.ones((2, 1))
    )
    assert np.isfinite(found).all()
    assert found[0, 0] > found[1, 0]
    assert found[1, 1] == 0


def test_what_is_above_the_limit_is_the_value_itself():
    signal, noise = np.array([[0.5, -2.0]]), np.array([[1.0, 1.0]])
    found = emitted("cut-off", signal, noise, np.array([0.5, 0.5]), np.ones((1, 1)))
    np.testing.assert_allclose(found, [[1.0, 0.0]])


def test_samples_that_are_drawn_anew_bring_their_own_depth():
    problem = planted_problem(
        0, emission="sparse-counts", flaw="selected", strength=3.0, n_samples=420
    )
    depth = np.exp(problem.covariates["test"]["log_depth"])[:, None]
    counts = np.expm1(problem.test.unstandardised().x) * depth
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-6)


def test_sparse_counts_are_whole_at_the_depth_of_their_sample_also_where_they_are_set():
    problem = world("counts-90")
    depth = np.exp(problem.covariates["train"]["log_depth"])[:, None]
    counts = np.expm1(problem.train.unstandardised().x) * depth
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-6)


def test_values_below_a_limit_are_cut_off():
    raw = world("cut-off-90").test.unstandardised().x
    assert abs((np.abs(raw) < 1e-9).mean() - 0.9) < 0.02
    assert raw.min() > -1e-9
