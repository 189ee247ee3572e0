"""A gap of a network whose concepts are known: what is read, decoded and swapped is right."""

from dataclasses import replace

import numpy as np
import pytest

from tests.networks.behaviour.bits import BITS, bits_data
from ucad.networks.activation import Activation
from ucad.networks.behaviour.concepts import Values
from ucad.networks.behaviour.discrete_factors import DecoderKind
from ucad.networks.behaviour.gap_fit import (
    GapData,
    GapParts,
    Quality,
    Swaps,
    fit_kind,
    quality,
    read_gap,
)

DATA = bits_data(0, 1)


@pytest.fixture(scope="module")
def model():
    readouts, _ = read_gap(DATA)
    return fit_kind(DATA, readouts, DecoderKind.AFFINE)


def test_readouts_give_the_classes_of_unseen_inputs():
    readouts, scores = read_gap(DATA)
    assert scores == (1.0, 1.0)
    x, _, _ = DATA.units(DATA.parts.test)
    for k, readout in enumerate(readouts):
        np.testing.assert_array_equal(readout.classes(x), BITS[DATA.parts.test, k])


def test_pairs_know_what_the_network_decides_on_hybrids():
    for k, swaps in enumerate(DATA.pairs(DATA.parts.validation, n_pairs=80)):
        mixed = BITS[swaps.base].copy()
        mixed[:, k] = BITS[swaps.source, k]
        np.testing.assert_array_equal(swaps.expected, mixed.all(axis=1))
        assert set(swaps.base) | set(swaps.source) <= set(DATA.parts.validation)


def test_the_right_factors_keep_all_decisions_and_swap_as_the_network_does(model):
    found = quality(DATA, model, DATA.pairs(DATA.parts.validation))
    assert found == Quality(1.0, 1.0)
    assert found.is_enough


@pytest.mark.parametrize("replaces", [True, False])
def test_agreement_weighs_changes_and_keeps_alike(model, replaces):
    """Against counting pairs, for a model that takes each bit for the other."""
    wrong = replace(model, readouts=model.readouts[::-1])
    swaps = DATA.pairs(DATA.parts.validation, n_pairs=200)[0]
    z = wrong.factors(DATA.units(swaps.base)[0])
    new = z.copy()
    new[:, 0] = wrong.readouts[0](DATA.units(swaps.source)[0])
    nothing = np.zeros((200, 0))
    child = wrong.children(new, nothing)
    if not replaces:
        child = DATA.units(swaps.base)[1] + child - wrong.children(z, nothing)
    inputs = DATA.subject.rows(swaps.base)
    right = DATA.subject.decisions(inputs, 1, wrong.act(child)) == swaps.expected
    changes = swaps.expected != DATA.subject.decisions(inputs)
    expected = (right[changes].mean() + right[~changes].mean()) / 2
    assert swaps.agreement(wrong, replaces=replaces) == pytest.approx(expected)
    only = swaps.agreement(wrong, replaces=replaces, among=changes)
    assert only == pytest.approx(right[changes].mean())


def test_a_swap_that_does_nothing_scores_a_half(model):
    still = replace(model.readouts[0], direction=0 * model.readouts[0].direction)
    idle = replace(model, readouts=(still, model.readouts[1]))
    swaps = DATA.pairs(DATA.parts.validation)[0]
    assert swaps.agreement(idle, replaces=False) == 0.5


def test_one_bit_alone_does_not_keep_the_decisions():
    data = bits_data(0)
    readouts, _ = read_gap(data)
    alone = fit_kind(data, readouts, DecoderKind.AFFINE)
    assert alone.kept(data, data.parts.validation) < 0.9


def test_units_that_are_never_negative_stay_so(model):
    values = np.array([[-1.0, 2.0]])
    assert replace(model, activation=Activation.RELU).act(values).tolist() == [[0.0, 2.0]]
    assert replace(model, activation=Activation.IDENTITY).act(values) is values


def test_a_decoder_is_enough_or_better_only_beyond_what_pairs_tell():
    assert Quality(0.99, 0.99).is_enough
    assert not Quality(1.0, 0.989).is_enough
    assert Quality(0.95, 0.9).is_better(Quality(0.92, 0.92))
    assert not Quality(0.95, 0.904).is_better(Quality(0.95, 0.9))


def test_pairs_are_typical_if_the_base_is_in_all_concepts_and_the_source_in_its_own():
    rows = np.array([5, 7, 9])
    first = Values(np.zeros(3, dtype=int), np.array([True, True, False]))
    second = Values(np.zeros(3, dtype=int), np.array([True, False, True]))
    base, source = np.array([5, 7, 5, 5]), np.array([7, 5, 9, 5])
    subject = DATA.subject
    data = GapData(subject, 0, (), GapParts(rows, rows, rows), (), 0)
    swaps = Swaps(data, 0, base, source, np.zeros(4, dtype=int))
    assert swaps.typical(rows, [first, second]).tolist() == [True, False, False, True]
