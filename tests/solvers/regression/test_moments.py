"""Masked moments against their definition."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ucad.data import MaskedMoments
from ucad.scm.families import AFFINE, NETWORK
from ucad.solvers.regression.moments import explained_nats, local_moments


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


def test_the_nats_of_one_column_are_those_of_its_regression():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, 2))
    x[:, 1] += x[:, 0]
    nats = explained_nats(x, x, np.zeros(x.shape, dtype=bool), AFFINE)
    share = np.corrcoef(x.T)[0, 1] ** 2
    np.testing.assert_allclose(nats[1, 0], -250 * np.log(1 - share), rtol=1e-3)


def test_a_bend_is_explained_by_functions_and_not_by_lines():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1000, 2))
    x[:, 1] = x[:, 0] ** 2 - 1 + 0.3 * x[:, 1]
    free = np.zeros(x.shape, dtype=bool)
    assert explained_nats(x, x, free, NETWORK)[1, 0] > 500
    assert explained_nats(x, x, free, AFFINE)[1, 0] < 20
