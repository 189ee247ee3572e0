"""Each world has what its sentence says; the plain world, or another, has not."""

import numpy as np
import pytest
from scipy.stats import kurtosis, skew

from tests.simulate.worlds.made_worlds import factor_fit, free_rows, target_values, world


def context(problem):
    """The noise of every variable in the test samples, by the true model, at variance 1."""
    u = problem.scm.abduct(problem.test.x).numpy()
    return u / u.std(axis=0)


@pytest.mark.parametrize(
    ("name", "is_so"),
    [
        ("laplace", lambda u: kurtosis(u).mean() > 2),
        ("student-t", lambda u: kurtosis(u).max() > 10),
        ("skewed", lambda u: skew(u).mean() > 1.5),
        ("uniform", lambda u: np.abs(u).max() < 1.9),
        ("uneven-noise", lambda u: kurtosis(u).max() > 2),
    ],
)
def test_noise_is_of_its_family_and_that_of_the_plain_world_is_not(name, is_so):
    assert is_so(context(world(name)))
    assert not is_so(context(world("planted")))
    np.testing.assert_allclose(context(world("planted")).std(axis=0), 1.0)


def test_samples_of_a_time_series_resemble_the_one_before():
    def memory(problem):
        u = context(problem)
        return np.mean([np.corrcoef(v[:-1], v[1:])[0, 1] for v in u.T])

    assert memory(world("time-series")) > 0.8
    assert abs(memory(world("planted"))) < 0.05


@pytest.mark.parametrize("name", ["binary", "logic"])
def test_binary_variables_are_zero_or_one_also_where_they_are_set(name):
    problem = world(name)
    raw = problem.train.unstandardised().x
    np.testing.assert_allclose(raw, np.rint(raw), atol=1e-9)
    assert set(np.rint(raw).ravel()) == {0.0, 1.0}


def test_discrete_variables_are_logarithms_of_counts():
    counts = np.expm1(free_rows(world("discrete")))
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-6)
    assert counts.max() > 10
    plain = free_rows(world("planted"))
    assert not np.allclose(np.expm1(plain), np.rint(np.expm1(plain)), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("counts-50", 0.5),
        ("counts-90", 0.9),
        ("rates-50", 0.5),
        ("rates-90", 0.9),
        ("raw-counts", 0.5),
    ],
)
def test_counts_have_the_zeros_they_say(name, share):
    problem = world(name)
    raw = problem.test.unstandardised().x
    assert abs((np.abs(raw) < 1e-9).mean() - share) < 0.04
    depth = problem.covariates["test"]["log_depth"]
    per_sample = (raw > 1e-9).mean(axis=1)
    assert np.corrcoef(depth, per_sample)[0, 1] > 0.3


def test_most_targets_are_unmeasured_and_have_regimes_of_their_own():
    problem = world("unmeasured-targets")
    assert problem.train.unmeasured_regimes == tuple(f"U{number}" for number in range(1, 7))
    assert problem.train.n_variables == 24
    assert problem.graph.has_anchors
    assert factor_fit(problem).max() < 0.9
    assert world("screen").train.unmeasured_regimes == ()


def test_clamps_are_rough_or_fail_where_the_world_says_so():
    assert max(values.std() for values in target_values(world("screen"))) < 1e-9
    for values in target_values(world("noisy-clamps")):
        assert 0.3 < values.std() < 0.7
    failed = [(values > -2.99).mean() for values in target_values(world("failed-clamps"))]
    assert abs(np.mean(failed) - 0.3) < 0.1


def test_clamps_at_the_mean_move_no_means():
    def largest_shift(problem):
        data = problem.train.unstandardised()
        control = data.x[data.regime == 0].mean(axis=0)
        return max(
            np.abs(data.x[data.regime == r].mean(axis=0) - control).max()
            for r in range(1, data.n_regimes)
        )

    assert largest_shift(world("screen-mean")) < 0.6
    assert largest_shift(world("screen")) > 2


def test_consecutive_factors_are_collinear():
    def smallest(problem):
        order = np.argsort(problem.graph.factor_level)
        z = problem.factors[:, order]
        return min(abs(np.corrcoef(a, b)[0, 1]) for a, b in zip(z.T, z.T[1:], strict=False))

    assert smallest(world("collinear")) > 0.93
    assert smallest(world("screen-chain")) < 0.9


def test_other_variables_are_clamped_in_the_share_of_samples_that_is_mislabelled():
    """Some of the wrong regimes act on the same variable all the same."""

    def wrong(name):
        values = target_values(world(name, action="constant"))
        return [(np.abs(v - np.median(v)) > 1e-9).mean() for v in values]

    assert 0.05 < np.mean(wrong("mislabelled")) < 0.13
    assert max(wrong("planted")) == 0
