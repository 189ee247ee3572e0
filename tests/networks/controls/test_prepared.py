"""A gap's controls are given the context that acts on its children, and no other."""

import numpy as np
import pytest

from tests.networks.concept_networks import ADDER_SITES, ExactAdder, adder_bits
from ucad.networks import AllLabels, NetworkSettings, fit_network
from ucad.networks.controls.bench import Bench, Gap
from ucad.networks.controls.decoders import Tables
from ucad.networks.controls.prepared import PreparedGap
from ucad.networks.own_answers import found_concepts, own_pairs


@pytest.fixture(scope="module")
def adder():
    model, bits = ExactAdder(), adder_bits()
    found = fit_network(model, bits, ADDER_SITES, NetworkSettings(decide=AllLabels()))
    steering = found.steering(model)
    pairs, _ = own_pairs(
        steering, bits, found_concepts(found.gaps), decide=AllLabels(), n_pairs=200
    )
    return Bench.of(steering, bits, [np.arange(len(bits))], AllLabels()), bits, pairs


def test_the_context_of_a_gap_is_the_input_of_its_own_step(adder):
    bench, bits, _ = adder
    assert bench.w.shape[1] == 4
    for gap, step in zip(Gap.all_of(bench.steering), (1, 2), strict=True):
        np.testing.assert_array_equal(bench.covariates(gap.children), bits[:, step])


def test_a_learned_two_valued_factor_keeps_its_score_with_a_table_trained_anew(adder):
    bench, _, pairs = adder
    gap, fitted = Gap.all_of(bench.steering)[0], np.arange(300)
    prepared = PreparedGap.of(bench, gap, fitted, n_draws=2, seed=0).two_valued(fitted, 0)
    assert isinstance(prepared.decoders, Tables)
    assert prepared.right(0, [0], pairs["state of cell#0"]).mean() == 1.0
