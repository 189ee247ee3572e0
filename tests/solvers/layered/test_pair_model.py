"""Models of pairs of layers, and the SCM that they make together."""

import numpy as np
import pytest
import torch

from ucad.data import InterventionalData, Scaling
from ucad.solvers.layered.binary_factors import BinaryFactor
from ucad.solvers.layered.layer_pairs import layer_pairs
from ucad.solvers.layered.pair_model import BinaryTerm, PairModel, assemble


@pytest.fixture
def data():
    x = np.random.default_rng(0).normal(size=(200, 6))
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[:50, 4], clamped[50:90, 0] = True, True
    return InterventionalData.from_arrays(x, clamped, layer_of=[0, 0, 1, 1, 2, 2])


def model_of(pair, rng, binary=None):
    effects, m = len(pair.effects), pair.n_factors
    return PairModel(
        weight=rng.normal(size=(m, len(pair.causes))),
        bias=rng.normal(size=m),
        w1=rng.normal(size=(effects, 3, m)),
        b1=rng.normal(size=(effects, 3)),
        w2=rng.normal(size=(effects, 3)),
        b2=rng.normal(size=effects),
        noise_scale=np.ones(effects),
        binary=binary,
    )


def test_linear_pairs_make_linear_factors(data):
    pairs, rng = layer_pairs(data, 2), np.random.default_rng(1)
    models = [model_of(pair, rng) for pair in pairs]
    scm = assemble(data, pairs, models)
    wanted = np.column_stack(
        [
            data.x[:, pair.causes] @ model.weight.T + model.bias
            for pair, model in zip(pairs, models, strict=True)
        ]
    )
    assert scm.factor_mechanism.is_affine
    np.testing.assert_allclose(scm.state_map(data.x).numpy(), wanted, atol=1e-9)


def test_a_binary_term_is_added_to_the_linear_part_of_a_factor(data):
    pairs, rng = layer_pairs(data, 4), np.random.default_rng(2)
    binary_term = BinaryTerm(BinaryFactor(np.array([3.0, -1.0]), 0.5), np.array([1.5, 0.0]))
    models = [model_of(pairs[0], rng, binary_term), model_of(pairs[1], rng)]
    z = assemble(data, pairs, models).state_map(data.x).numpy()
    x = data.x[:, pairs[0].causes]
    steep = np.tanh(x @ np.array([3.0, -1.0]) + 0.5)
    wanted = x @ models[0].weight.T + models[0].bias + steep[:, None] * binary_term.gain
    np.testing.assert_allclose(z[:, :2], wanted, rtol=1e-7, atol=1e-7)
    other = data.x[:, pairs[1].causes] @ models[1].weight.T + models[1].bias
    np.testing.assert_allclose(z[:, 2:], other, rtol=1e-7, atol=1e-7)


def test_every_pair_decodes_its_own_layer(data):
    pairs, rng = layer_pairs(data, 2), np.random.default_rng(3)
    models = [model_of(pair, rng) for pair in pairs]
    scm = assemble(data, pairs, models)
    z = torch.tensor(rng.normal(size=(5, 2)))
    decoded = scm.expected_variables(z).numpy()
    for k, (pair, model) in enumerate(zip(pairs, models, strict=True)):
        for at, j in enumerate(pair.effects):
            hidden = np.tanh(z[:, [k]].numpy() @ model.w1[at].T + model.b1[at])
            np.testing.assert_allclose(decoded[:, j], hidden @ model.w2[at] + model.b2[at])


@pytest.mark.parametrize("has_binary_term", [False, True])
def test_a_model_in_other_units_makes_the_same_factors_and_effects(data, has_binary_term):
    pairs, rng = layer_pairs(data, 4), np.random.default_rng(4)
    term = BinaryTerm(BinaryFactor(np.array([3.0, -1.0]), 0.5), np.array([1.5, 0.0]))
    models = [model_of(pairs[0], rng, term if has_binary_term else None), model_of(pairs[1], rng)]
    units = Scaling(rng.normal(size=6), rng.uniform(0.5, 2, size=6))
    given = data.standardised(units)
    moved = [
        model.in_units(*(Scaling(*(part[side] for part in back)) for side in pair[:2]))
        for pair, model, back in zip(
            pairs, models, [Scaling(-units.mean / units.scale, 1 / units.scale)] * 2, strict=True
        )
    ]
    one, other = assemble(data, pairs, models), assemble(given, pairs, moved)
    z = one.state_map(data.x)
    torch.testing.assert_close(other.state_map(given.x), z, rtol=1e-6, atol=1e-6)
    expected = (one.expected_variables(z).numpy() - units.mean) / units.scale
    np.testing.assert_allclose(other.expected_variables(z).numpy()[:, 2:], expected[:, 2:])
