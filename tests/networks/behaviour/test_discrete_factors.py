"""Read-outs and decoders of factors with few values."""

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.data.context import Context
from ucad.networks.behaviour.discrete_factors import (
    DecoderKind,
    class_readout,
    fit_decoder,
    hidden_layer,
)
from ucad.solvers.layered import BottleneckConfig, fit_bottleneck, fit_rectified

AFFINE, TABLE, NETWORK = DecoderKind


def left(kind, readouts, z, w, y):
    """Mean squared error of a decoder of one kind."""
    decoder = fit_decoder(kind, hidden_layer(kind, readouts, w), np.c_[z, w], y)
    return ((decoder(np.c_[z, w]) - y) ** 2).mean()


@pytest.fixture
def bits():
    rng = np.random.default_rng(0)
    return rng.integers(2, size=(400, 2)), rng.integers(2, size=(400, 2)).astype(float)


def test_a_table_computes_what_an_affine_decoder_cannot(bits):
    classes, w = bits
    x = classes + 0.05 * np.random.default_rng(1).normal(size=classes.shape)
    readouts = [class_readout(x, classes[:, k], 2) for k in (0, 1)]
    z = np.stack([one(x) for one in readouts], axis=1)
    parity = (classes.sum(axis=1) + w.sum(axis=1))[:, None] % 2
    assert left(AFFINE, readouts, z, w, parity) > 0.2
    assert left(TABLE, readouts, z, w, parity) < 1e-6
    assert left(AFFINE, readouts, z, w, classes @ np.array([[1.0], [2.0]])) < 1e-4


def test_a_factor_with_three_values_has_a_table():
    rng = np.random.default_rng(2)
    label, symbol = rng.integers(3, size=(2, 400))
    x, w = np.eye(3)[label] + 0.05 * rng.normal(size=(400, 3)), np.eye(3)[symbol]
    readout = class_readout(x, label, 3)
    assert (readout.classes(x) == label).all()
    assert left(TABLE, [readout], readout(x)[:, None], w, (label + symbol)[:, None] % 3.0) < 1e-6


def test_a_table_that_would_be_too_large_is_not_made():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 1))
    readout = class_readout(x, (x[:, 0] > 0).astype(int), 2)
    assert hidden_layer(TABLE, [readout], rng.integers(2, size=(200, 8)).astype(float)) is None
    assert hidden_layer(TABLE, [readout], rng.normal(size=(200, 1))) is None


def recurrent(n=1500):
    """h′ = (h ⊕ w, …): nothing without the context, one factor with it."""
    rng = np.random.default_rng(4)
    state, w = rng.integers(2, size=(2, n))
    x = np.c_[state, 1 - state] + 0.02 * rng.normal(size=(n, 2))
    y = np.c_[state ^ w, state & w] + 0.02 * rng.normal(size=(n, 2))
    data = InterventionalData.from_arrays(np.c_[x, y], layer_of=[0, 0, 1, 1])
    return data, data.with_context(Context(("w",), w[:, None].astype(float)))


def test_a_bottleneck_with_context_explains_what_none_without_does():
    without, within = recurrent()
    config = BottleneckConfig(epochs=60, batch_size=256)
    scms = [fit_bottleneck(data, 1, config=config).scm for data in (without, within)]
    errors = [
        (scm.abduct(within.x, covariates=w)[:, 2:] ** 2).mean()
        for scm, w in zip(scms, (None, within.context.values), strict=True)
    ]
    assert errors[0] > 0.1
    assert errors[1] < 0.01


def test_rectified_units_take_a_context_as_part_of_their_slope():
    rng = np.random.default_rng(5)
    x, w = rng.normal(size=(800, 2)), rng.normal(size=(800, 1))
    y = np.maximum(0, np.c_[x @ [1.0, 2.0] + w[:, 0], x @ [1.0, 2.0] - 0.5 * w[:, 0] + 0.3])
    data = InterventionalData.from_arrays(np.c_[x, y], layer_of=[0, 0, 1, 1])
    scm = fit_rectified(data.with_context(Context(("w",), w)), 1).scm
    z = scm.state_map(data.x).numpy()[:, 0]
    assert abs(np.corrcoef(z, x @ [1.0, 2.0])[0, 1]) > 0.9999
    assert (scm.abduct(data.x, covariates=w)[:, 2:] ** 2).mean() < 0.01
