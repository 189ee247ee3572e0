"""Weighted moments against their definition, and against those without weights."""

import numpy as np

from ucad.solvers.regression.trees import TargetMoments
from ucad.solvers.regression.weighted_moments import (
    WeightedFeatureMoments,
    explained_nats_weighted,
    weighted_moments,
)

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(300, 4))
TARGETS = np.stack([FEATURES[:, 0] - FEATURES[:, 2], RNG.normal(size=300)], axis=1)
TARGETS += 0.5 * RNG.normal(size=TARGETS.shape)


def test_integer_weights_are_samples_counted_so_often():
    weights = RNG.integers(0, 4, size=(300, 2)).astype(float)
    found = weighted_moments(FEATURES, TARGETS, weights, [np.array([0, 2]), np.array([1])], 0.0)
    for j, chosen in enumerate(([0, 2], [1])):
        rows = np.repeat(np.arange(300), weights[:, j].astype(int))
        both = np.column_stack([FEATURES[rows][:, chosen], TARGETS[rows, j]])
        wanted = np.cov(both.T, bias=True)
        at = [*range(len(chosen)), 2]
        np.testing.assert_allclose(found.gram[j][np.ix_(at, at)], wanted, atol=1e-4)
        assert found.n_samples[j] == (weights[:, j] > 0).sum()
    assert found.exists.tolist() == [[True, True], [True, False]]


def test_with_equal_weights_the_gain_is_that_of_a_line():
    gains = explained_nats_weighted(FEATURES, TARGETS, np.ones((300, 2)))
    r = np.corrcoef(FEATURES.T, TARGETS.T)[4:, :4]
    np.testing.assert_allclose(gains, -150 * np.log1p(-(r**2)), rtol=1e-6)


def test_what_has_weight_0_does_not_count():
    weights, spoiled = np.ones((300, 2)), TARGETS.copy()
    weights[:100], spoiled[:100] = 0, 1e6
    gains = explained_nats_weighted(FEATURES, spoiled, weights)
    alone = explained_nats_weighted(FEATURES[100:], TARGETS[100:], np.ones((200, 2)))
    np.testing.assert_allclose(gains, alone, rtol=1e-6)


def test_moments_made_when_they_are_asked_for_are_those_of_a_matrix_per_target():
    weights, spoiled = RNG.gamma(2.0, size=(300, 2)), TARGETS.copy()
    weights[:50, 0], spoiled[:50, 0] = 0, np.nan
    found = WeightedFeatureMoments(FEATURES, spoiled, weights, 0.01)
    wanted = weighted_moments(FEATURES, spoiled, weights, [np.arange(4)] * 2, 0.01)
    for name in ("variance", "cross", "own", "n_samples"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), atol=1e-9)
    which, features = np.array([0, 1, 1]), np.array([2, 0, 3])
    columns = wanted.columns(which, features)
    np.testing.assert_allclose(found.columns(which, features), columns, atol=1e-9)
    assert isinstance(found, TargetMoments)
