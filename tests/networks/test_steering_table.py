import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.networks.models import exact_inputs, exact_network, exact_scm
from ucad.errors import InvalidInputError
from ucad.graph import FactorGraph
from ucad.networks import (
    Steering,
    SteeringSettings,
    SubspaceSettings,
    expected_by_lookup,
    steering_table,
    swap_pairs,
)
from ucad.networks.controls import Role, Verdict
from ucad.scm import FactorSCM, LinearMechanism

INPUTS = exact_inputs()
BITS = (INPUTS > 0.5).numpy()
BOTH = BITS.all(axis=1)
STEERING = Steering(exact_network(), exact_scm())
CONCEPTS = {"a": BITS[:, 0], "b": BITS[:, 1]}
PAIRS = {
    name: swap_pairs(BOTH, expected_by_lookup(CONCEPTS, BOTH, name), n_pairs=300)
    for name in CONCEPTS
}
SETTINGS = SteeringSettings(n_draws=6, n_starts=1, subspace=SubspaceSettings(n_steps=30))


@pytest.fixture(scope="module")
def table():
    blocks = {"a": ["input[0]"]}
    return steering_table(STEERING, INPUTS, PAIRS, settings=SETTINGS, blocks=blocks)


def test_the_table_names_the_known_factors_and_all_controls(table):
    assert (table["a"].best, table["b"].best) == ("Z1", "Z2")
    line = table["a"]
    assert line.score.mean == 1.0
    assert {control.kind for control in line.controls} == {
        "nothing is swapped",
        "copy of the source's output",
        "sources of other pairs",
        "learned, decoder trained anew",
        "random factors, same decoder",
        "PCA, same decoder",
        "ICA, same decoder",
        "untrained layer, same decoder",
        "raw input, same decoder",
        "learned, two values and a table",
        "random factors, two values and a table",
        "PCA, two values and a table",
        "ICA, two values and a table",
        "untrained layer, two values and a table",
        "raw input, two values and a table",
        "whole site that is patched",
        "whole site that is read",
        "hybrid inputs",
        "hybrid inputs, wrong blocks",
        "supervised, 1 direction",
    }
    assert line.control("learned, decoder trained anew").score.mean > 0.97
    assert line.control("hybrid inputs").score.mean == 1.0
    assert line.control("hybrid inputs, wrong blocks").score.mean < 0.8
    assert line.control("copy of the source's output").score.mean < 0.9
    assert line.control("sources of other pairs").score.mean < 0.8
    assert line.control("nothing is swapped").score.mean == 0.5


def test_what_the_raw_input_gives_as_well_is_not_distinguished(table):
    """The bits themselves are the inputs: reading them before the network ties, rightly."""
    assert table["a"].verdict is not Verdict.ABOVE
    assert not table["a"].beats_placebos
    assert table["a"].two_valued
    assert "raw input, two values and a table" in table["a"].ties


def test_a_factor_with_two_values_is_judged_by_readings_that_have_two(table):
    """A decoder that is a network would compute: it is another method, and no placebo of this."""
    assert not any(kind.endswith("same decoder") for kind in table["a"].ties)
    spread = replace(table["a"], two_valued=False)
    assert "raw input, same decoder" in spread.ties


def test_a_factor_that_copies_the_output_does_not_beat_the_copy(table):
    """Z3 = a + b decides everything: its swap is the swap of the output."""
    scores = table["a"].by_factor["Z3"]
    assert scores.mean == pytest.approx(
        table["a"].control("copy of the source's output").score.mean
    )


def test_intervals_hold_the_scores_and_placebos_are_compared(table):
    for line in table.concepts:
        for score in (*line.by_factor.values(), *(c.score for c in line.controls)):
            assert 0 <= score.low <= score.mean <= score.high <= 1
        for control in line.controls:
            assert (control.against is None) == (control.role is Role.REFERENCE)


def test_the_table_prints_and_travels(table):
    assert "not distinguished" in str(table)
    assert "supervised, 1 direction" in str(table)
    read = json.loads(table.to_json())
    assert read["concepts"][0]["verdict"] == table["a"].verdict
    assert read["concepts"][0]["by_factor"]["Z1"]["on_changes"] == 1.0


def test_wrong_names_and_settings_are_refused():
    with pytest.raises(InvalidInputError, match=r"no entry 'input\[7\]'"):
        steering_table(STEERING, INPUTS, PAIRS, settings=SETTINGS, blocks={"a": ["input[7]"]})
    with pytest.raises(InvalidInputError, match="'n_draws' setting"):
        SteeringSettings(n_draws=0)


def test_the_network_is_left_as_it_was(table):
    fresh = exact_network()
    for name, weight in fresh.state_dict().items():
        assert torch.equal(weight, STEERING.model.state_dict()[name])
    assert all(p.grad is None for p in STEERING.model.parameters())
    assert np.isfinite([c.mean for line in table.concepts for c in line.controls]).all()


def test_labels_that_are_not_what_the_network_decides_are_told():
    wrong = {"a": swap_pairs(~BOTH, expected_by_lookup(CONCEPTS, ~BOTH, "a"), n_pairs=100)}
    few = replace(SETTINGS, n_draws=1, two_valued=False, ceiling_directions=0)
    told = steering_table(STEERING, INPUTS, wrong, settings=few)
    assert "does not compute this outcome" in told.notes[0]
    right = steering_table(STEERING, INPUTS, {"a": PAIRS["a"]}, settings=few)
    assert right.notes == ()


def test_a_model_whose_factors_act_on_nothing_is_refused():
    scm, none = exact_scm(), np.zeros((10, 3), dtype=bool)
    idle = FactorSCM(
        FactorGraph(scm.graph.Q, none, variable_names=scm.graph.variable_names),
        scm.factor_mechanism,
        LinearMechanism(torch.zeros(10, 3, dtype=torch.float64), torch.zeros(10).double()),
        scm.noise_scale,
    )
    with pytest.raises(InvalidInputError, match="no factor with children"):
        steering_table(Steering(exact_network(), idle), INPUTS, PAIRS, settings=SETTINGS)
