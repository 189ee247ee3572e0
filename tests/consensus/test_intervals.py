"""Shifts under a clamp against what the equations say, and their range over fits."""

import numpy as np
import pytest
import torch

from tests.consensus.made_fits import CHAIN, SAMPLES, halves, only, relabelled, without
from ucad.consensus.consensus import Consensus, summarise
from ucad.consensus.counting import count
from ucad.consensus.intervals import shift_intervals, shifts_of
from ucad.scm import FactorSCM, LinearMechanism

MANY = 20_000


def consensus(*scms):
    counts = count(CHAIN, halves(*scms), SAMPLES)
    return Consensus(support=summarise(counts, None, None), scm=None, fits=scms)


def test_a_linear_model_shifts_by_its_total_effects():
    """Clamping X1 to 2: Z1 by 0.8 · 2, X5 by 0.8² · 2, Z2 by 0.8³ · 2, X7 by 0.8⁴ · 2."""
    x, z = shifts_of(CHAIN, {"X1": 2.0}, MANY)
    state = CHAIN.sample(MANY, seed=5)
    spread = state.x.std(dim=0).numpy(), state.z.std(dim=0).numpy()
    total = np.array([2, 0, 0, 0, 2 * 0.8**2, 2 * 0.8**2, 2 * 0.8**4, 2 * 0.8**4])
    np.testing.assert_allclose(x, total / spread[0], atol=0.03)
    np.testing.assert_allclose(z, np.array([2 * 0.8, 2 * 0.8**3]) / spread[1], atol=0.03)


def test_what_is_not_below_the_target_does_not_move_at_all():
    x, z = shifts_of(CHAIN, {"X4": 3.0}, 50)
    assert np.flatnonzero(x == 0).tolist() == [0, 1, 2, 4, 5]
    assert np.flatnonzero(z == 0).tolist() == [0]


def test_a_clamp_of_all_parents_holds_the_factor_as_the_intervention_map_says():
    """X1 = X2 = 1 fixes Z1 = 1.6, which is a clamp of Z1 at the high level, too."""
    _, z = shifts_of(CHAIN, {"X1": 1.0, "X2": 1.0}, MANY)
    spread = CHAIN.sample(MANY, seed=5).z.std(dim=0).numpy()
    np.testing.assert_allclose(z * spread, [1.6, 0.8 * 0.8 * 1.6], atol=0.04)


def test_factors_of_fits_are_put_in_order_and_turned_before_they_are_compared():
    turned = relabelled(CHAIN, [1, 0], [-1, -1])
    found = shift_intervals(consensus(CHAIN, turned, turned, CHAIN), {"X1": 2.0}, 500)
    own = shifts_of(CHAIN, {"X1": 2.0}, 500)
    for name, shift in zip(("Z1", "Z2"), own.z, strict=True):
        assert found[name] == pytest.approx((shift, shift, 1.0))
    for name, shift in zip(CHAIN.graph.variable_names, own.x, strict=True):
        assert found[name][:2] == pytest.approx((shift, shift))


def test_a_factor_without_a_partner_does_not_move_in_that_fit():
    found = shift_intervals(consensus(CHAIN, CHAIN, CHAIN, only(CHAIN, "Z1")), {"X3": 2.0}, 500)
    assert found["Z2"].moved == 0.75
    assert found["X8"].moved == 0.75
    assert (found["Z1"].moved, found["X1"].moved, found["X3"].moved) == (0.0, 0.0, 1.0)


def test_the_range_is_that_of_the_quantiles_over_the_fits():
    """One fit of four predicts nothing for X5: 5 % and 95 % quantiles by linear interpolation."""
    fits = (CHAIN, CHAIN, CHAIN, without(CHAIN, ("Z1", "X5")))
    shift = shifts_of(CHAIN, {"X1": 2.0}, 500).x[4]
    found = shift_intervals(consensus(*fits), {"X1": 2.0}, 500)["X5"]
    assert (found.low, found.high) == pytest.approx((0.15 * shift, shift))


def test_fits_whose_prediction_is_not_finite_are_left_out():
    huge = LinearMechanism(
        CHAIN.variable_mechanism.weight * 1e200, torch.zeros(8, dtype=torch.float64)
    )
    F_Z = LinearMechanism(CHAIN.factor_mechanism.weight * 1e200, CHAIN.factor_mechanism.bias)
    broken = FactorSCM(CHAIN.graph, F_Z, huge, CHAIN.noise_scale)
    both = Consensus(support=consensus(CHAIN, CHAIN).support, scm=None, fits=(CHAIN, broken))
    found = shift_intervals(both, {"X1": 2.0}, 100)
    own = shifts_of(CHAIN, {"X1": 2.0}, 100).x[6]
    assert found["X7"] == pytest.approx((own, own, 1.0))
    none = Consensus(support=both.support, scm=None, fits=(broken, broken))
    assert shift_intervals(none, {"X1": 2.0}, 100) == {}
