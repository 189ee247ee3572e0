"""What travels with a fitted model is plain, small, and from every regime."""

import json

import numpy as np
import pytest

from ucad.about_fit import SAMPLE_SIZE, about_data, plain_settings, sample_of
from ucad.data import InterventionalData


def measured(n_samples):
    rng = np.random.default_rng(0)
    clamped = np.zeros((n_samples, 3), dtype=bool)
    clamped[: n_samples // 4, 0] = True
    return InterventionalData.from_arrays(rng.standard_normal((n_samples, 3)), clamped)


def test_a_sample_is_the_data_where_they_are_few():
    few = measured(100)
    assert sample_of(few, seed=0) is few


def test_a_sample_of_many_has_every_regime_in_proportion():
    sample = sample_of(measured(8000), seed=0)
    assert sample.n_samples == pytest.approx(SAMPLE_SIZE, abs=2)
    assert sample.is_intervened[:, 0].mean() == pytest.approx(0.25, abs=0.01)


def test_settings_are_what_json_can_hold():
    given = {"n_factors": np.int64(3), "layers": (0, 1), "prior": object(), "progress": print}
    plain = plain_settings(given)
    assert json.loads(json.dumps(plain))["n_factors"] == 3
    assert plain["layers"] == [0, 1]
    assert isinstance(plain["prior"], str)
    assert "progress" not in plain


def test_data_are_known_by_their_fingerprint():
    one, other = measured(100), measured(104)
    assert about_data(one)["fingerprint"] != about_data(other)["fingerprint"]
    assert about_data(one)["n_regimes"] == 2
