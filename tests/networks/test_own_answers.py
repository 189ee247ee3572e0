"""Pairs without labels: the network's own decisions on hybrids, or with a state swapped."""

import numpy as np
import pytest

from tests.networks.concept_networks import (
    ADDER_SITES,
    ExactAdder,
    adder_bits,
    carry,
    dense_bits,
    dense_or,
)
from ucad.errors import InvalidInputError
from ucad.networks import AllLabels, NetworkSettings, fit_network
from ucad.networks.own_answers import FoundConcept, found_concepts, own_pairs


@pytest.fixture(scope="module")
def dense():
    model, x = dense_or(), dense_bits()
    found = fit_network(model, x, ["1", "3"])
    return found.steering(model), x, found_concepts(found.gaps)


def test_swaps_of_a_block_are_judged_by_hybrid_inputs(dense):
    steering, x, concepts = dense
    assert [one.name for one in concepts] == ["input[0] input[1]", "input[2] input[3]"]
    drawn, left_out = own_pairs(steering, x, concepts, n_pairs=100)
    pairs, bits = drawn["input[2] input[3]"], x > 0.5
    wanted = (bits[pairs.base, 0] & bits[pairs.base, 1]) | (
        bits[pairs.source, 2] ^ bits[pairs.source, 3]
    )
    np.testing.assert_array_equal(pairs.expected, wanted)
    assert (int(pairs.changes.sum()), left_out) == (50, {})


def test_a_concept_that_changes_nothing_is_left_out(dense):
    steering, x, _ = dense
    idle = FoundConcept("1", ("input[4]",))
    drawn, left_out = own_pairs(steering, x, [idle], n_pairs=40)
    assert drawn == {}
    assert "hardly ever changes" in left_out["input[4]"]


def test_inputs_of_another_kind_are_refused(dense):
    steering, x, _ = dense
    with pytest.raises(InvalidInputError, match="inputs that it was fitted on"):
        own_pairs(steering, x, [FoundConcept("1", ("tokens[0]",))])


def test_swaps_of_a_state_are_judged_by_the_whole_state():
    model, bits = ExactAdder(), adder_bits()
    found = fit_network(model, bits, ADDER_SITES, NetworkSettings(decide=AllLabels()))
    concepts = found_concepts(found.gaps)
    assert concepts[1] == FoundConcept("cell#1")
    drawn, _ = own_pairs(found.steering(model), bits, concepts, decide=AllLabels(), n_pairs=60)
    pairs = drawn["state of cell#1"]
    differ = carry(bits[pairs.base], 1) != carry(bits[pairs.source], 1)
    np.testing.assert_array_equal(pairs.changes, differ)
