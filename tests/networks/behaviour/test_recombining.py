"""Whether a hybrid of two inputs could have been drawn as well."""

import numpy as np
import pytest

from ucad.networks.behaviour.recombining import MAX_CORRELATION, MAX_FEATURES, why_not_recombined
from ucad.networks.features import features_of

RNG = np.random.default_rng(0)
NORMAL = RNG.standard_normal((4000, 3))


def why(x):
    return why_not_recombined(x, features_of(x))


def test_independent_features_may_be_recombined():
    assert why(NORMAL) is None
    assert why(RNG.integers(2, size=(500, 4)).astype(float)) is None


@pytest.mark.parametrize(("r", "may"), [(0.05, True), (0.4, False), (-0.4, False)])
def test_correlated_features_may_not_beyond_what_is_small(r, may):
    x = NORMAL.copy()
    x[:, 2] = r * x[:, 0] + np.sqrt(1 - r**2) * x[:, 2]
    told = why(x)
    assert (told is None) == may
    if not may:
        assert "features input[0] and input[2] depend" in told
        assert f"r = {abs(np.corrcoef(x.T)[0, 2]):.2f}" in told


def test_with_few_inputs_chance_correlations_are_no_reason():
    found = [why(np.random.default_rng(seed).standard_normal((40, 6))) for seed in range(30)]
    assert found == [None] * 30
    largest = np.abs(np.corrcoef(np.random.default_rng(0).standard_normal((40, 6)).T) - np.eye(6))
    assert largest.max() > MAX_CORRELATION


def test_entries_of_one_code_depend_on_each_other_and_that_is_no_reason():
    codes = np.eye(3)[RNG.integers(3, size=(2, 600))]
    assert why(np.concatenate(list(codes), axis=1)) is None


def test_one_feature_that_varies_cannot_be_recombined():
    x = np.zeros((50, 3))
    x[:, 1] = RNG.standard_normal(50)
    assert "fewer than two features that vary" in why(x)


def test_images_are_not_taken_apart():
    x = RNG.standard_normal((20, MAX_FEATURES + 1))
    assert f"{MAX_FEATURES + 1} features, too many" in why(x)
