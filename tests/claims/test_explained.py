"""What an intervention explains is estimated without bias, whatever else acts."""

from __future__ import annotations

import numpy as np
import pytest

from ucad.claims.answers import Answer
from ucad.claims.explained import Effect, effect_of, explained_answer, response_basis


def drawn(slope, predicted_slope, *, n=400, noise=1.0, seed=0):
    """x_1 is set at random, x_2 = slope · x_1 + noise, and predicted with another slope."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    truth = np.stack([x, slope * x + noise * rng.standard_normal(n)], axis=1)
    predicted = np.stack([x, predicted_slope * x], axis=1)
    return effect_of(truth, predicted, np.zeros(2), np.array([True, False]), np.array([0, 1]))


@pytest.mark.parametrize(("slope", "predicted", "missed"), [(1, 1, 0), (1, 0, 1), (1, 0.5, 0.25)])
def test_signal_and_what_is_missed_are_unbiased(slope, predicted, missed):
    found = [drawn(slope, predicted, seed=seed) for seed in range(60)]
    assert np.mean([one.signal for one in found]) == pytest.approx(slope**2, abs=0.04)
    assert np.mean([one.missed for one in found]) == pytest.approx(missed, abs=0.04)


def test_standard_errors_are_those_of_repetition():
    found = [drawn(0.0, 0.5, seed=seed) for seed in range(200)]
    assert np.std([one.signal for one in found]) == pytest.approx(found[0].signal_error, rel=0.4)
    assert np.std([one.missed for one in found]) == pytest.approx(
        np.mean([one.missed_error for one in found]), rel=0.4
    )


def test_no_effect_is_not_seen_and_a_real_one_is():
    assert not any(drawn(0.0, 0.0, seed=seed).is_seen for seed in range(30))
    assert all(drawn(0.6, 0.0, seed=seed).is_seen for seed in range(30))


def test_targets_held_at_one_value_leave_a_mean_only():
    assert response_basis(np.full((10, 2), 3.0)).shape == (10, 1)
    assert response_basis(np.random.default_rng(0).standard_normal((20, 2))).shape == (20, 6)


def effect(explained, *, permuted=-1.0, error=0.01, signal=1.0):
    return Effect(signal, 0.01, 1 - explained, error, 1 - permuted)


@pytest.mark.parametrize(
    ("effects", "answer"),
    [
        ([effect(1.0)], Answer.YES),
        ([effect(0.6)], Answer.PARTLY),
        ([effect(0.2)], Answer.NO),
        ([effect(0.9, permuted=0.95)], Answer.NO),
        ([effect(0.7, error=0.3)], Answer.UNKNOWN),
        ([effect(1.0, signal=0.02)], Answer.UNKNOWN),
        (9 * [effect(1.0)] + [effect(0.1)], Answer.PARTLY),
    ],
    ids=["all", "in part", "poor", "as permuted", "too uncertain", "no effect", "one missed"],
)
def test_the_answer_follows_from_the_share_explained(effects, answer):
    assert explained_answer(effects, is_permuted_another=True) is answer


def test_a_permutation_that_changes_nothing_is_no_rival():
    same = [effect(0.9, permuted=0.95)]
    assert explained_answer(same, is_permuted_another=False) is Answer.YES
