"""Decoders improved by swaps inside the network, where least squares are not enough."""

from dataclasses import replace

import numpy as np
import pytest

from tests.networks.behaviour.bits import bits_data
from ucad.networks.behaviour import tuning
from ucad.networks.behaviour.discrete_factors import DecoderKind
from ucad.networks.behaviour.gap_fit import Quality, fit_kind, quality, read_gap
from ucad.networks.behaviour.tuning import decode_gap, tuned

DATA = bits_data(0, 1)


@pytest.fixture(scope="module")
def fitted():
    return fit_kind(DATA, read_gap(DATA)[0], DecoderKind.AFFINE)


def test_the_simplest_decoder_is_taken_where_it_is_enough(fitted):
    found = decode_gap(DATA, fitted.readouts)
    assert found.model.decoder.kind is DecoderKind.AFFINE
    assert not found.is_tuned
    assert found.quality == Quality(1.0, 1.0)


def test_a_decoder_that_is_off_is_brought_back_and_the_start_stays_as_it_was(fitted, monkeypatch):
    """Units too low by 0.3 make the network say no to everything."""
    off = replace(fitted, decoder=replace(fitted.decoder, b2=fitted.decoder.b2 - 0.3))
    monkeypatch.setattr(tuning, "N_STEPS", 80)
    kept = off.decoder.b2.copy(), off.decoder.linear.copy(), off.readouts[0].direction.copy()
    held_out = DATA.pairs(DATA.parts.validation, n_pairs=300)
    before = quality(DATA, off, held_out)
    found = tuned(DATA, off, DATA.pairs(DATA.parts.train, n_pairs=300))
    after = quality(DATA, found, held_out)
    assert before.kept < 0.9
    assert after.kept > 0.97
    assert after.agreement > before.agreement
    for old, now in zip(
        kept, (off.decoder.b2, off.decoder.linear, off.readouts[0].direction), strict=True
    ):
        np.testing.assert_array_equal(old, now)


def test_the_network_is_not_trained(fitted, monkeypatch):
    monkeypatch.setattr(tuning, "N_STEPS", 3)
    before = {n: p.clone() for n, p in DATA.subject.model.named_parameters()}
    tuned(DATA, fitted, DATA.pairs(DATA.parts.train, n_pairs=50))
    for name, value in DATA.subject.model.named_parameters():
        assert (value == before[name]).all()
        assert value.grad is None
