"""Gaps between layers, and the SCM that their models make together."""

import numpy as np
import pytest
import torch

from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.solvers.gaps import FactorSwitch, GapModel, assemble, gaps_of, usable_rows


@pytest.fixture
def data():
    x = np.random.default_rng(0).normal(size=(200, 6))
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[:50, 4], clamped[50:90, 0] = True, True
    return InterventionalData.from_arrays(x, clamped, layer_of=[0, 0, 1, 1, 2, 2])


def model_of(gap, rng, switch=None):
    effects, m = len(gap.effects), gap.n_factors
    return GapModel(
        weight=rng.normal(size=(m, len(gap.causes))),
        bias=rng.normal(size=m),
        w1=rng.normal(size=(effects, 3, m)),
        b1=rng.normal(size=(effects, 3)),
        w2=rng.normal(size=(effects, 3)),
        b2=rng.normal(size=effects),
        noise_scale=np.ones(effects),
        switch=switch,
    )


def test_factors_are_shared_out_evenly_or_as_told(data):
    assert [gap.n_factors for gap in gaps_of(data, 4, None)] == [2, 2]
    assert [gap.n_factors for gap in gaps_of(data, 3, (1, 2))] == [1, 2]
    with pytest.raises(InvalidInputError, match="add up to 4"):
        gaps_of(data, 4, (1, 2))


def test_samples_in_which_an_effect_is_clamped_are_left_out(data):
    first, second = gaps_of(data, 2, None)
    assert usable_rows(data, first).tolist() == list(range(200))
    assert usable_rows(data, second).tolist() == list(range(50, 200))


def test_a_linear_gap_makes_linear_factors(data):
    gaps, rng = gaps_of(data, 2, None), np.random.default_rng(1)
    models = [model_of(gap, rng) for gap in gaps]
    scm = assemble(data, gaps, models)
    wanted = np.column_stack(
        [
            data.x[:, gap.causes] @ model.weight.T + model.bias
            for gap, model in zip(gaps, models, strict=True)
        ]
    )
    assert scm.factor_mechanism.is_affine
    np.testing.assert_allclose(scm.state_map(data.x).numpy(), wanted, atol=1e-9)


def test_a_switch_is_added_to_the_linear_part_of_a_factor(data):
    gaps, rng = gaps_of(data, 4, None), np.random.default_rng(2)
    switch = FactorSwitch(np.array([3.0, -1.0]), 0.5, np.array([1.5, 0.0]))
    models = [model_of(gaps[0], rng, switch), model_of(gaps[1], rng)]
    z = assemble(data, gaps, models).state_map(data.x).numpy()
    x = data.x[:, gaps[0].causes]
    steep = np.tanh(x @ switch.direction + switch.offset)
    wanted = x @ models[0].weight.T + models[0].bias + steep[:, None] * switch.gain
    np.testing.assert_allclose(z[:, :2], wanted, rtol=1e-7, atol=1e-7)
    other = data.x[:, gaps[1].causes] @ models[1].weight.T + models[1].bias
    np.testing.assert_allclose(z[:, 2:], other, rtol=1e-7, atol=1e-7)


def test_every_gap_decodes_its_own_layer(data):
    gaps, rng = gaps_of(data, 2, None), np.random.default_rng(3)
    models = [model_of(gap, rng) for gap in gaps]
    scm = assemble(data, gaps, models)
    z = torch.tensor(rng.normal(size=(5, 2)))
    decoded = scm.expected_variables(z).numpy()
    for k, (gap, model) in enumerate(zip(gaps, models, strict=True)):
        for at, j in enumerate(gap.effects):
            hidden = np.tanh(z[:, [k]].numpy() @ model.w1[at].T + model.b1[at])
            np.testing.assert_allclose(decoded[:, j], hidden @ model.w2[at] + model.b2[at])
