import numpy as np
from hypothesis import given

from tests.strategies import seeds
from ucad.data import MaskedMoments


@given(seeds)
def test_features_other_than_the_variables_are_masked_by_the_variables(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(50, 3))
    clamped = rng.random((50, 3)) < 0.3
    features = np.concatenate([np.ones((50, 1)), x, x**3], axis=1)
    moments = MaskedMoments(features, clamped)
    for j in range(3):
        free = features[~clamped[:, j]]
        np.testing.assert_allclose(moments.of(j).matrix, free.T @ free / len(free), atol=1e-10)


def test_a_target_clamped_everywhere_has_no_samples_and_no_nan():
    moment = MaskedMoments(np.ones((4, 2)), np.ones((4, 2), dtype=bool)).of(0)
    assert moment.n_samples == 0
    assert (moment.matrix == 0).all()
