"""What held-out samples say of one number of factors, against its definitions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from tests.consensus.made_fits import CHAIN, Q, R, only, relabelled, without
from ucad.consensus.factor_path import HeldOut, bend, gain, measured, returning
from ucad.data import InterventionalData

X = CHAIN.sample(1200, seed=1).x.numpy()
TRAIN, VALIDATION = (InterventionalData.from_arrays(part) for part in (X[:800], X[800:]))
HELD_OUT = HeldOut(TRAIN, VALIDATION, 0)


@pytest.fixture(scope="module")
def step():
    return measured(CHAIN, HELD_OUT)


@pytest.fixture(scope="module")
def short():
    """The same without Z2, whose two children then share what nothing explains."""
    return measured(only(CHAIN, "Z1"), HELD_OUT)


def test_the_bend_is_the_smallest_number_beyond_which_little_is_gained(step):
    gained = [0.0, 1.0, 1.9, 1.96, 2.0]
    steps = [replace(step, n_factors=m, log_likelihood=np.full(5, v)) for m, v in enumerate(gained)]
    assert bend(steps).n_factors == 2
    assert bend(steps[:2]).n_factors == 1
    assert bend(steps[:1]).n_factors == 0


def test_the_likelihood_is_that_of_normal_noise_on_held_out_samples(step):
    x = VALIDATION.x
    z = x @ CHAIN.factor_mechanism.weight.numpy().T
    mean = z @ CHAIN.variable_mechanism.weight.numpy().T
    expected = norm.logpdf(x, mean, CHAIN.noise_scale.numpy()).sum(axis=1)
    np.testing.assert_allclose(step.log_likelihood, expected)
    assert step.nll == pytest.approx(-expected.mean() / 8)
    assert step.standard_error == pytest.approx(expected.std() / 8 / np.sqrt(400))


def test_entries_that_were_set_from_outside_do_not_count():
    acted = np.zeros((1200, 8), dtype=bool)
    acted[::2, 0] = True
    both = InterventionalData.from_arrays(X, acted)
    parts = both.select(np.arange(800)), both.select(np.arange(800, 1200))
    found = measured(CHAIN, HeldOut(*parts, 0))
    assert found.nll == pytest.approx(-found.log_likelihood.sum() / (400 * 8 - 200))


def test_the_true_number_is_adequate_and_one_less_is_not(step, short):
    assert step.is_adequate
    assert not short.is_adequate
    assert 0.05 < short.leftover[1] <= 1.0


def test_variables_named_first_are_tested_first():
    """Something is left of both children of Z2."""
    found = [measured(only(CHAIN, "Z1"), HELD_OUT, first=[name]) for name in ("X7", "X8")]
    assert [one.leftover[0] for one in found] == ["X7", "X8"]


def test_factors_are_counted_by_what_they_have(step):
    assert (step.n_factors, step.n_anchored, step.n_edges) == (2, 2, int(Q.sum() + R.sum()))
    assert (step.n_empty, step.n_copied, step.n_single_child) == (0, 0, 0)
    childless = measured(without(CHAIN, ("Z2", "X7"), ("Z2", "X8")), HELD_OUT)
    assert (childless.n_empty, childless.n_anchored) == (1, 1)
    single = measured(without(CHAIN, ("Z2", "X8")), HELD_OUT)
    assert (single.n_single_child, single.n_empty) == (1, 0)


def test_a_factor_that_is_another_one_turned_round_is_a_copy():
    twice = relabelled(CHAIN, [0, 1, 1], [1, 1, -1])
    assert measured(twice, HELD_OUT).n_copied == 1


def test_a_row_says_what_is_left_and_of_what(step, short):
    assert (step.row()["is_adequate"], step.row()["left_of"]) == (True, "")
    name, share = short.leftover
    assert (short.row()["left_of"], short.row()["left_share"]) == (name, round(share, 4))


def test_a_gain_is_paired_over_samples(step, short):
    mean, error = gain(step, short)
    difference = step.log_likelihood - short.log_likelihood
    assert mean == pytest.approx(difference.mean())
    assert error == pytest.approx(difference.std() / np.sqrt(400))
    shifted = replace(step, log_likelihood=step.log_likelihood + 2.0)
    assert gain(shifted, step) == pytest.approx((2.0, 0.0), abs=1e-12)


def test_factors_return_whatever_their_order_and_sign_and_lost_ones_do_not():
    assert returning(CHAIN, relabelled(CHAIN, [1, 0], [-1, 1]), VALIDATION) == 2
    assert returning(CHAIN, only(CHAIN, "Z2"), VALIDATION) == 1
    assert returning(only(CHAIN), CHAIN, VALIDATION) == returning(CHAIN, only(CHAIN), VALIDATION)
    assert returning(only(CHAIN), CHAIN, VALIDATION) == 0


def test_without_other_samples_nothing_is_held_out():
    assert HELD_OUT.is_held_out
    assert not HeldOut(TRAIN, TRAIN, 0).is_held_out
