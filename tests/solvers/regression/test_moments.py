"""Masked moments against their definition."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ucad.data import MaskedMoments
from ucad.solvers.regression.moments import local_moments


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_moments_are_covariances_over_the_samples_in_which_the_target_is_free(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((60, 4))
    clamped = rng.random((60, 4)) < 0.2
    candidates = [np.array([1, 2]), np.array([0, 3]), np.array([3]), np.array([0, 1])]
    moments = local_moments(MaskedMoments(x, clamped), np.arange(4), candidates, floor=0.1)
    for j, chosen in enumerate(candidates):
        rows = ~clamped[:, j]
        expected = np.cov(x[np.ix_(rows, [*chosen, j])].T, bias=True)
        expected[-1, -1] += 0.1
        size = len(chosen)
        keep = [*range(size), moments.gram.shape[1] - 1]
        np.testing.assert_allclose(moments.gram[j][np.ix_(keep, keep)], expected, atol=1e-6)
        assert moments.n_samples[j] == rows.sum()
        assert moments.exists[j].sum() == size
