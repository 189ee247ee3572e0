"""Shares of variance are those of the formulas written out, and discrete variables are seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.claims.models import SCM, System, observed, samples_of
from ucad.claims.weights import MAX_ROWS, Weights
from ucad.scm import LinearMechanism


def test_what_is_explained_is_one_minus_the_residual_share_where_free():
    samples = samples_of(SCM, System(), n_samples=900)
    found = Weights(samples).explained
    for j in range(8):
        free = ~samples.is_intervened[:, j]
        share = 1 - (samples.residual[free, j] ** 2).mean() / (samples.x[free, j] ** 2).mean()
        assert found[j] == pytest.approx(share if j >= 4 else 0.0)


def test_a_linear_model_explains_its_share_of_the_population():
    weights = Weights(samples_of(SCM, System(targets=()), n_samples=20_000))
    z1 = 2 * 0.8**2  # X1 and X2 have variance 1
    assert weights.explained[5] == pytest.approx(0.8**2 * z1 / (0.8**2 * z1 + 0.16), abs=0.02)


def test_a_model_that_is_worse_than_the_mean_explains_nothing():
    scm = replace(
        SCM,
        variable_mechanism=LinearMechanism(
            -SCM.variable_mechanism.weight, SCM.variable_mechanism.bias
        ),
    )
    assert Weights(samples_of(scm, System(), n_samples=500)).explained.max() == 0


def test_the_weight_into_a_factor_is_what_is_lost_without_the_variable():
    F_Z = LinearMechanism(
        torch.tensor([[1.0, 3, 0, 0, 0, 0, 0, 0], [0, 0, 0.1, 1, 0, 0, 0, 0]]).double(),
        torch.tensor([5.0, -2.0]).double(),
    )
    scm = replace(SCM, factor_mechanism=F_Z)
    data = System().draw(MAX_ROWS).x.copy()
    samples = observed(scm, data)
    found, z = Weights(samples).into, F_Z(torch.from_numpy(data)).numpy()
    for i, k in np.ndindex(8, 2):
        lost = float(F_Z.weight[k, i]) * (data[:, i] - data[:, i].mean())
        assert found[i, k] == pytest.approx((lost**2).mean() / z[:, k].var(), abs=1e-12)


def test_weights_leave_the_samples_as_they_were():
    samples = samples_of(SCM, System(), n_samples=300)
    before = samples.x.copy()
    weights = Weights(samples)
    assert weights.into.any()
    np.testing.assert_array_equal(samples.x, before)


def test_the_weight_out_of_a_factor_is_that_of_its_children():
    weights = Weights(samples_of(SCM, System(), n_samples=300))
    for j, k in np.ndindex(8, 2):
        assert weights.out_of[j, k] == (weights.explained[j] if SCM.graph.R[j, k] else 0)


def test_a_factor_without_weight_is_constant_and_gets_no_shares():
    weight = SCM.factor_mechanism.weight.clone()
    weight[0] = 0
    scm = replace(SCM, factor_mechanism=LinearMechanism(weight, SCM.factor_mechanism.bias))
    weights = Weights(samples_of(scm, System(), n_samples=300))
    assert weights.is_constant.tolist() == [True, False]
    assert not weights.into[:, 0].any()


def rectified(rng, share):
    values = rng.standard_normal(1000)
    values[: int(1000 * share)] = 0.0
    return rng.permutation(values)


RNG = np.random.default_rng(0)
COLUMNS = {
    "real": (RNG.standard_normal(1000), False),
    "real with a few zeros": (rectified(RNG, 0.1), False),
    "zero-inflated": (rectified(RNG, 0.3), True),
    "switch": (RNG.choice([0.0, 1.0], 1000), True),
    "small counts": (RNG.poisson(2.0, 1000).astype(float), True),
    "larger counts": (RNG.poisson(60.0, 1000).astype(float), True),
    "heavy tails": (RNG.standard_t(2, 1000), False),
    "constant": (np.full(1000, 3.0), True),
}


@pytest.mark.parametrize(("values", "is_discrete"), COLUMNS.values(), ids=COLUMNS)
def test_a_variable_is_discrete_if_its_values_repeat(values, is_discrete):
    x = np.random.default_rng(1).standard_normal((1000, 8))
    x[:, 0] = values
    weights = Weights(observed(SCM, x))
    assert weights.is_discrete.tolist() == [is_discrete, *(7 * [False])]
    mode = np.unique(values, return_counts=True)[1].max() / 1000
    assert weights.mode_share[0] == pytest.approx(mode)


def test_values_that_were_set_from_outside_make_no_variable_discrete():
    weights = Weights(samples_of(SCM, System(action="constant"), n_samples=900))
    assert not weights.is_discrete.any()
