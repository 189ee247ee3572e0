"""Models of pairs of layers, and the SCM that they make together."""

import numpy as np
import pytest
import torch

from ucad.data import InterventionalData, Scaling
from ucad.data.context import Context
from ucad.scm import LinearMechanism
from ucad.solvers.layered.layer_pairs import layer_pairs
from ucad.solvers.layered.pair_model import PairModel, assemble, network, straight_units


@pytest.fixture
def data():
    x = np.random.default_rng(0).normal(size=(200, 6))
    return InterventionalData.from_arrays(x, layer_of=[0, 0, 1, 1, 2, 2])


def linear(pair, rng):
    weight, bias = rng.normal(size=(pair.n_factors, len(pair.causes))), rng.normal(size=pair[2])
    return LinearMechanism(torch.tensor(weight), torch.tensor(bias))


def nonlinear(n_targets, n_inputs, rng):
    sizes = ((n_targets, 3, n_inputs), (n_targets, 3), (n_targets, 3), (n_targets,))
    return network(*(rng.normal(size=size) for size in sizes))


def model_of(pair, rng, n_covariates=0, encoder=None):
    causes, effects, m = pair
    return PairModel(
        causes,
        effects,
        encoder=linear(pair, rng) if encoder is None else encoder,
        decoder=nonlinear(len(effects), m + n_covariates, rng),
        noise_scale=np.ones(len(effects)),
        covariates=np.arange(n_covariates),
    )


def assembled(data, models, context=None):
    return assemble(data.x, data.variable_names, models, context)


def encoded(data, models):
    return torch.cat([m.encoder(torch.tensor(data.x[:, m.causes])) for m in models], dim=1)


def test_linear_pairs_make_linear_factors(data):
    rng = np.random.default_rng(1)
    models = [model_of(pair, rng) for pair in layer_pairs(data, 2)]
    scm = assembled(data, models)
    assert scm.factor_mechanism.is_affine
    torch.testing.assert_close(scm.state_map(data.x), encoded(data, models))


def test_one_pair_with_a_network_leaves_the_linear_ones_as_they_are(data):
    pairs, rng = layer_pairs(data, 4), np.random.default_rng(2)
    models = [model_of(pairs[0], rng, encoder=nonlinear(2, 2, rng)), model_of(pairs[1], rng)]
    scm = assembled(data, models)
    assert not scm.factor_mechanism.is_affine
    torch.testing.assert_close(scm.state_map(data.x), encoded(data, models), rtol=1e-7, atol=1e-7)


def test_every_pair_decodes_its_own_layer_and_the_first_layer_keeps_its_mean(data):
    rng = np.random.default_rng(3)
    models = [model_of(pair, rng) for pair in layer_pairs(data, 2)]
    z = torch.tensor(rng.normal(size=(5, 2)))
    decoded = assembled(data, models).expected_variables(z)
    for k, model in enumerate(models):
        torch.testing.assert_close(decoded[:, model.effects], model.decoder(z[:, [k]]))
    np.testing.assert_allclose(decoded[:, :2], np.tile(data.x[:, :2].mean(axis=0), (5, 1)))


def test_with_a_context_the_model_is_joint_and_at_its_average_where_it_is_not_known(data):
    rng = np.random.default_rng(4)
    context = Context(("u", "v", "w"), rng.normal(size=(200, 3)) + 1)
    models = [model_of(pair, rng, n_covariates=3) for pair in layer_pairs(data, 2)]
    scm = assembled(data, models, context)
    z, w = torch.tensor(rng.normal(size=(5, 2))), rng.normal(size=(5, 3))
    mean = np.tile(context.values.mean(axis=0), (5, 1))
    torch.testing.assert_close(scm.expected_variables(z), scm.context.expected(z, mean))
    joint = scm.context.expected(z, w)
    for k, model in enumerate(models):
        both = torch.cat([z[:, [k]], torch.tensor(w)], dim=1)
        torch.testing.assert_close(joint[:, model.effects], model.decoder(both))


def test_a_model_in_other_units_makes_the_same_factors_and_effects(data):
    (pair,), rng = layer_pairs(data, 2)[:1], np.random.default_rng(5)
    model = model_of(pair, rng, n_covariates=1)
    causes, effects, covariates = (
        Scaling(rng.normal(size=size), rng.uniform(0.5, 2, size=size)) for size in (2, 2, 1)
    )
    moved = model.in_units(causes, effects, covariates)
    x, w = data.x[:, pair.causes], rng.normal(size=(200, 1))
    z = model.encoder(torch.tensor((x - causes.mean) / causes.scale))
    torch.testing.assert_close(moved.encoder(torch.tensor(x)), z)
    standard = (w - covariates.mean) / covariates.scale
    wanted = model.decoder(torch.cat([z, torch.tensor(standard)], dim=1)).numpy()
    found = moved.decoder(torch.cat([z, torch.tensor(w)], dim=1)).numpy()
    np.testing.assert_allclose(found, effects.mean + effects.scale * wanted)
    np.testing.assert_allclose(moved.noise_scale, effects.scale)


def test_a_straight_unit_is_its_linear_function():
    weight = np.array([[2.0, -1.0], [0.0, 0.0]])
    v = np.random.default_rng(6).normal(size=(50, 2))
    slope, gain = straight_units(weight, np.abs(v @ weight.T).max(axis=0))
    np.testing.assert_allclose(np.tanh(v @ slope.T) * gain, v @ weight.T, rtol=1e-7)
