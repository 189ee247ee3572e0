"""Masked moments against their definition."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ucad.solvers.search.moments import N_FUNCTIONS, additive_features, local_moments


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_moments_are_covariances_over_the_samples_in_which_the_target_is_free(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((60, 4))
    clamped = rng.random((60, 4)) < 0.2
    candidates = [np.array([1, 2]), np.array([0, 3]), np.array([3]), np.array([0, 1])]
    moments = local_moments(x, x, clamped, candidates, floor=0.1)
    for j, chosen in enumerate(candidates):
        rows = ~clamped[:, j]
        expected = np.cov(x[np.ix_(rows, [*chosen, j])].T, bias=True)
        expected[-1, -1] += 0.1
        size = len(chosen)
        keep = [*range(size), moments.gram.shape[1] - 1]
        np.testing.assert_allclose(moments.gram[j][np.ix_(keep, keep)], expected, atol=1e-6)
        assert moments.n_samples[j] == rows.sum()
        assert moments.exists[j].sum() == size


def test_additive_features_follow_a_random_network_of_one_input():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 1))
    features = additive_features(x, nonlinear=True)
    assert features.shape == (2000, 1, N_FUNCTIONS)
    y = np.tanh(x * rng.standard_normal(16)) @ rng.standard_normal(16)
    design = np.column_stack([features[:, 0], np.ones(2000)])
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert left.var() < 1e-3 * y.var()


def test_linear_features_are_the_variables():
    x = np.random.default_rng(0).standard_normal((5, 3))
    assert (additive_features(x, nonlinear=False)[:, :, 0] == x).all()
