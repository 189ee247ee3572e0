"""A variable that was clamped no longer goes with what its factors predict; a shifted one does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.claims.models import SMALL, System, samples_of
from ucad.claims.answers import Answer
from ucad.claims.clamps import centred_within, clamps
from ucad.claims.samples import TestSamples

SYSTEM = System(scm=SMALL, targets=((0,), (2,), (3,)))


def test_values_are_centred_within_their_regime_alone():
    rng = np.random.default_rng(0)
    values, regime = rng.standard_normal((50, 3)), rng.integers(0, 6, 50)
    regime[regime == 4] = 5  # a number that no sample has
    found = centred_within(values, regime)
    for label in set(regime):
        own = regime == label
        np.testing.assert_allclose(found[own], values[own] - values[own].mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(centred_within(values[:, 1], regime), found[:, 1], atol=1e-12)


def test_random_clamps_are_clamps():
    claim = clamps(samples_of(SMALL, SYSTEM, n_samples=2000))
    assert claim.answer is Answer.YES
    assert {row["variable"] for row in claim.details["tests"]} == {"X3", "X4"}
    assert claim.details["n_acted_on"] == 3


def test_shifts_are_no_clamps_and_are_named():
    claim = clamps(samples_of(SMALL, replace(SYSTEM, action="shift"), n_samples=2000))
    assert claim.answer is Answer.NO
    assert claim.details["not_clamped"] == ["X3", "X4"]
    assert "still follow what their factors predict: X3 and X4." in claim.text


def test_the_test_is_its_formula():
    samples = samples_of(SMALL, replace(SYSTEM, action="shift"), n_samples=2000)
    row = clamps(samples).details["tests"][0]
    own = samples.is_intervened[:, 2]
    a, b = (v[own, 2] - v[own, 2].mean() for v in (samples.x, samples.expected))
    assert row["T"] == pytest.approx((a * b).sum() / np.sqrt((a**2 * b**2).sum()))
    assert row["share"] == pytest.approx(np.corrcoef(a, b)[0, 1] ** 2)
    assert row["n_samples"] == own.sum()


def test_values_held_constant_are_not_tested():
    claim = clamps(samples_of(SMALL, replace(SYSTEM, action="constant"), n_samples=2000))
    assert claim.answer is Answer.UNKNOWN
    assert claim.text.startswith("None of the 3 variables that were acted on can be asked")
    assert claim.details["tests"] == []


def test_a_variable_without_factors_or_with_too_few_samples_is_not_tested():
    shifted = replace(SYSTEM, action="shift", targets=((0,), (3,)))
    assert clamps(samples_of(SMALL, shifted, n_samples=2000)).details["not_clamped"] == ["X4"]
    assert clamps(samples_of(SMALL, shifted, n_samples=50)).details["tests"] == []


def test_samples_in_which_a_parent_was_acted_on_too_are_left_out():
    both = replace(SYSTEM, action="shift", targets=((0, 3),))
    assert clamps(samples_of(SMALL, both, n_samples=1000)).details["tests"] == []


def test_regimes_with_different_means_alone_are_clamps():
    """Set around 2 where the parents are high, and around −2 where they are low."""
    data = replace(SYSTEM, targets=((3,), (3,))).draw(3000)
    x, sign = data.x.copy(), np.array([0, 1, -1])[data.regime]
    x[:, :2] += sign[:, None]
    x[:, 3] += 2 * sign
    assert clamps(TestSamples.of(SMALL, replace(data, x=x), None, 0)).answer is Answer.YES


def test_without_interventions_there_is_nothing_to_refuse():
    claim = clamps(samples_of(SMALL, replace(SYSTEM, targets=()), n_samples=200))
    assert claim.answer is Answer.YES
    assert claim.text == "Nothing was acted on."
