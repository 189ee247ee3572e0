"""Slopes at both ends of an edge: 1 as the model expects, 0 where nothing happens."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.claims.models import System, linear_scm, samples_of
from ucad.claims.effects import (
    Slopes,
    _contrast,
    _pooled,
    _spread_contrast,
    _within,
    acting_on_cause,
    acting_on_effect,
)

CHAIN = linear_scm([[1], [0]], [[0], [1]])
REVERSED = linear_scm([[0], [1]], [[1], [0]])
IDLE = linear_scm([[1], [0]], [[0], [1]], weight=0.0)
ONLY = np.array([1])


def samples(scm, truth, target, *, action="random", n_samples=2000):
    system = System(scm=truth, targets=((target,),), action=action)
    return samples_of(scm, system, n_samples=n_samples)


def near(found, value):
    return np.abs(found.value[0] - value) < 4 * found.error[0]


@pytest.mark.parametrize("action", ["random", "constant"])
def test_acting_on_the_cause_of_a_true_edge_gives_slope_1(action):
    found = acting_on_cause(samples(CHAIN, CHAIN, 0, action=action), 0, ONLY)
    assert near(found, 1)
    assert found.error[0] < 0.1


@pytest.mark.parametrize("action", ["random", "constant"])
@pytest.mark.parametrize("truth", [IDLE, REVERSED], ids=["no edge", "reversed"])
def test_acting_on_what_is_no_cause_gives_slope_0(action, truth):
    found = acting_on_cause(samples(CHAIN, truth, 0, action=action), 0, ONLY)
    assert near(found, 0) or found.value[0] < 0.2
    assert not near(found, 1)


@pytest.mark.parametrize("action", ["random", "constant"])
def test_acting_on_the_effect_of_a_true_edge_shows_nothing(action):
    found, beta = acting_on_effect(samples(CHAIN, CHAIN, 1, action=action), 1, np.array([0]))
    assert near(found, 0)
    assert beta[0] > 0.5


@pytest.mark.parametrize("action", ["random", "constant"])
def test_acting_on_the_effect_of_a_reversed_edge_shows_the_slope(action):
    found, beta = acting_on_effect(samples(CHAIN, REVERSED, 1, action=action), 1, np.array([0]))
    assert found.value[0] > 10 * found.error[0]
    assert np.sign(beta[0]) == 1


@pytest.mark.parametrize("target", [0, 1])
def test_what_was_never_acted_on_is_not_measured(target):
    other = samples(CHAIN, CHAIN, 1 - target)
    found = (
        acting_on_cause(other, 0, ONLY)
        if target == 0
        else acting_on_effect(other, 1, np.array([0]))[0]
    )
    assert found.value.tolist() == [0]
    assert np.isinf(found.error).all()


def test_slopes_within_regimes_are_least_squares_with_jackknife_errors():
    rng = np.random.default_rng(0)
    regime = np.repeat([0, 1, 2], 40)
    c = rng.standard_normal((120, 1)) + regime[:, None]
    y = 0.7 * c + 5.0 * regime[:, None] + np.abs(c) * rng.standard_normal((120, 1))
    found = _within(c, y, np.ones_like(c, dtype=bool), regime)
    dummies = np.eye(3)[regime]
    X = np.column_stack([c, dummies])
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    assert found.value[0] == pytest.approx(w[0, 0])
    left = (y - X @ w)[:, 0]
    own = (c - dummies @ np.linalg.lstsq(dummies, c, rcond=None)[0])[:, 0]
    leverage = own**2 / (own @ own)
    variance = (own**2 * (left / (1 - leverage)) ** 2).sum() / (own @ own) ** 2
    assert found.error[0] == pytest.approx(np.sqrt(variance))


def test_intervals_of_slopes_hold_what_they_promise():
    """Of 400 slopes with unequal spread, about 5 % miss the truth by two standard errors."""
    rng = np.random.default_rng(1)
    c = rng.standard_normal((60, 400))
    y = 0.5 * c + (0.2 + c**2) * rng.standard_normal((60, 400))
    found = _within(c, y, np.ones_like(c, dtype=bool), np.zeros(60, dtype=np.int64))
    missed = (np.abs(found.value - 0.5) > 2 * found.error).mean()
    assert 0.01 < missed < 0.11


def measured(rng, n, *, at, slope):
    c = at + 0.01 * rng.standard_normal((n, 1))
    return c, slope * c + 0.3 * rng.standard_normal((n, 1)), np.ones((n, 1), dtype=bool)


def test_the_contrast_is_the_step_of_the_means():
    rng = np.random.default_rng(2)
    here, base = measured(rng, 50, at=2.0, slope=0.7), measured(rng, 80, at=0.0, slope=0.7)
    found = _contrast(here, base)
    step = here[0].mean() - base[0].mean()
    assert found.value[0] == pytest.approx((here[1].mean() - base[1].mean()) / step)
    error = np.sqrt(here[1].var() / 50 + base[1].var() / 80) / abs(step)
    assert found.error[0] == pytest.approx(error)


def test_a_step_that_is_lost_in_noise_is_no_contrast():
    rng = np.random.default_rng(3)
    here, base = measured(rng, 50, at=0.0, slope=0.7), measured(rng, 80, at=0.0, slope=0.7)
    assert _contrast(here, base).precision[0] == 0


@pytest.mark.parametrize(("acts", "slope"), [(True, 1.0), (False, 0.0)])
def test_holding_a_cause_fixed_takes_its_part_out_of_the_spread(acts, slope):
    rng = np.random.default_rng(4)
    c0 = rng.standard_normal((3000, 1))
    free = np.ones((3000, 1), dtype=bool)
    y0 = c0 + 0.5 * rng.standard_normal((3000, 1))
    y1 = 0.5 * rng.standard_normal((3000, 1)) if acts else rng.permutation(y0)
    found = _spread_contrast((0 * c0, y1, free), (c0, y0, free))
    assert found.value[0] == pytest.approx((y0.var() - y1.var()) / c0.var())
    assert near(found, slope)


def test_pooled_slopes_are_weighted_by_their_precision():
    one, other = (
        Slopes(np.array([p]), np.array([p * b]), n) for p, b, n in ((4.0, 1, 9), (1.0, 6, 5))
    )
    both = _pooled(one, other)
    assert both.value[0] == pytest.approx((4 * 1 + 1 * 6) / 5)
    assert both.error[0] == pytest.approx(1 / np.sqrt(5))
    assert both.n_samples == 9


@pytest.mark.parametrize(("n_samples", "freedom"), [(12, 10), (1000, 998), (0, 1)])
def test_the_threshold_is_a_quantile_of_students_t(n_samples, freedom):
    slopes = Slopes(np.ones(1), np.ones(1), n_samples)
    assert slopes.threshold(0.01) == pytest.approx(stats.t(freedom).isf(0.01))


def test_effects_that_are_acted_on_themselves_do_not_count():
    system = System(scm=CHAIN, targets=((0, 1),))
    found = acting_on_cause(samples_of(CHAIN, system, n_samples=500), 0, ONLY)
    assert found.precision[0] == 0
