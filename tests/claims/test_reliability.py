"""Noise that the children of a factor share is measured, in units of the factor's variance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.claims.models import SCM, SMALL, System, linear_scm, samples_of
from ucad.claims import reliability
from ucad.claims.mechanism_class import SCALE, UP_TO_NOISE, values
from ucad.claims.reliability import factor_noise
from ucad.claims.samples import TestSamples
from ucad.claims.weights import Weights


def read_with_noise(level):
    """Every variable is read with noise; factors are made of what was there."""
    data = System(scm=SMALL, targets=((0,), (1,))).draw(6000)
    noise = level * np.random.default_rng(1).standard_normal(data.x.shape)
    return TestSamples.of(SMALL, replace(data, x=data.x + noise), None, 0)


def test_a_true_model_has_no_noise_of_its_factors():
    samples = samples_of(SCM, System())
    for k in range(2):
        noise = factor_noise(samples, k)
        assert abs(noise.value) < 4 * noise.error
        assert noise.is_small
        assert not noise.is_there


def test_noise_of_readings_is_measured():
    """τ(x) = .8 (x₁ + x₂) has variance 1.28 and read noise .64 · 2 · .25 = .32."""
    noise = factor_noise(read_with_noise(0.5), 0)
    assert noise.is_there
    assert noise.value == pytest.approx(0.32 / 1.6, abs=0.06)


def test_values_of_a_factor_that_was_read_with_noise_are_not_claimed():
    found = values(Weights(read_with_noise(0.5)), (), ())
    assert found.details["factors"][0]["known"] == "not known"
    assert "noise" in found.details["factors"][0]["because"]


def test_one_child_cannot_tell_and_two_can():
    single = linear_scm([[1], [1], [0]], [[0], [0], [1]])
    samples = samples_of(single, System(scm=single, targets=((0,), (1,))))
    assert factor_noise(samples, 0).error == np.inf
    assert values(Weights(samples), (), ()).details["factors"][0]["known"] == UP_TO_NOISE
    double = samples_of(SMALL, System(scm=SMALL, targets=((0,), (1,))))
    assert values(Weights(double), (), ()).details["factors"][0]["known"] == SCALE


def test_slopes_beyond_all_numbers_tell_nothing(monkeypatch):
    monkeypatch.setattr(
        reliability,
        "_slopes",
        lambda _s, _k, children, rows: np.full((len(rows), len(children)), 1e200),
    )
    assert factor_noise(samples_of(SCM, System()), 0).error == np.inf
