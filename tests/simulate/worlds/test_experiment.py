"""What an action does to a variable: x ↦ keep · x + offset, sample by sample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import seeds
from ucad.errors import InvalidInputError
from ucad.simulate.worlds.experiment import (
    ACTIONS,
    SOFT_ACTIONS,
    Experiment,
    one_by_one,
    side_effects,
)

CENTRE, SPREAD = np.array([10.0, -4.0]), np.array([2.0, 0.5])
N = 4000


def done(action, **changes):
    """What a regime of many samples does to its target, the first of two variables."""
    targets, regime = one_by_one(np.array([0]), 2, samples_per_regime=N, n_control=50)
    experiment = Experiment(targets=targets, regime=regime, action=action, **changes)
    doing = experiment.doing(CENTRE, SPREAD, np.random.default_rng(0))
    return doing.keep, doing.offset, regime == 1


@pytest.mark.parametrize("action", ACTIONS)
def test_nothing_is_done_to_others_nor_in_samples_without_an_action(action):
    keep, offset, acted = done(action)
    for untouched in ((keep[~acted], offset[~acted]), (keep[:, 1], offset[:, 1])):
        assert (untouched[0] == 1).all()
        assert (untouched[1] == 0).all()


@pytest.mark.parametrize(
    ("action", "keep", "mean", "spread"),
    [
        ("constant", 0.0, 10 - 3 * 2.0, 0.0),
        ("random", 0.0, 10.0, 2.0),
        ("knockdown", 0.3, 0.7 * (10 - 3 * 2.0), 0.0),
        ("shift", 1.0, -3 * 2.0, 0.0),
        ("knockout", 0.0, 0.0, 0.0),
        ("coin", 0.0, 0.5, 0.5),
        ("count", 0.0, 0.573, 0.490),  # E and sd of log(1 + c), c ~ Poisson(1)
    ],
)
def test_an_action_keeps_and_adds_what_its_name_says(action, keep, mean, spread):
    found, offset, acted = done(action)
    assert set(found[acted, 0]) == {keep}
    assert offset[acted, 0].mean() == pytest.approx(mean, abs=0.1)
    assert offset[acted, 0].std() == pytest.approx(spread, abs=0.05)
    assert (keep > 0) == (action in SOFT_ACTIONS)


@pytest.mark.parametrize(("action", "share"), [("constant", 1.0), ("knockdown", 0.7)])
def test_jitter_is_in_standard_deviations_of_the_target(action, share):
    _, offset, acted = done(action, jitter=0.5)
    assert offset[acted, 0].std() == pytest.approx(share * 0.5 * 2.0, rel=0.05)


def test_a_coin_has_two_sides_and_counts_are_whole():
    _, offset, acted = done("coin")
    assert set(offset[acted, 0]) == {0.0, 1.0}
    counts = np.expm1(done("count")[1][acted, 0])
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-9)


def test_mislabelled_samples_get_the_action_of_some_other_sample():
    """Half of them are drawn from all samples, of which a third are in the same regime."""
    targets, regime = one_by_one(np.array([0, 1]), 2, samples_per_regime=N, n_control=N)
    experiment = Experiment(targets=targets, regime=regime, action="knockout", mislabelled=0.5)
    keep, _ = experiment.doing(CENTRE, SPREAD, np.random.default_rng(0))
    assert (keep[regime == 1, 0] == 0).mean() == pytest.approx(0.5 + 0.5 / 3, abs=0.03)
    assert (keep[regime == 0] == 0).mean() == pytest.approx(0.5 / 3, abs=0.03)
    np.testing.assert_array_equal(experiment.is_acted_on, targets[regime])


@given(seeds, st.sampled_from([0.0, 0.4, 1.0]))
def test_side_effects_hit_one_more_variable_of_a_regime_that_has_a_target(seed, share):
    rng = np.random.default_rng(seed)
    targets, _ = one_by_one(np.arange(5), 6, samples_per_regime=1, n_control=1)
    extra = side_effects(targets, share, rng)
    assert not (extra & targets).any()
    assert not extra[0].any()
    assert (extra.sum(axis=1) <= 1).all()
    if share in (0.0, 1.0):
        assert extra.sum() == share * 5


def test_the_share_of_side_effects_is_that_asked_for():
    targets, _ = one_by_one(np.arange(400), 401, samples_per_regime=1, n_control=1)
    assert side_effects(targets, 0.3, np.random.default_rng(0)).sum() == pytest.approx(120, abs=40)


def test_an_unknown_action_gets_a_suggestion():
    targets, regime = one_by_one(np.array([0]), 2, samples_per_regime=1, n_control=1)
    with pytest.raises(InvalidInputError, match="Did you mean 'knockout'"):
        Experiment(targets=targets, regime=regime, action="knokout")


def test_what_fails_or_is_not_labelled_is_not_what_the_data_say():
    targets, regime = one_by_one(np.array([0]), 2, samples_per_regime=1000, n_control=10)
    extra = np.array([[False, False], [False, True]])
    experiment = Experiment(
        targets=targets, regime=regime, action="constant", failure=0.3, unlabelled=extra
    )
    keep, _ = experiment.doing(np.zeros(2), np.ones(2), np.random.default_rng(0))
    assert experiment.is_acted_on.sum(axis=0).tolist() == [1000, 0]
    acted = (keep == 0).sum(axis=0)
    assert 600 < acted[0] < 800
    assert acted[0] == acted[1]
