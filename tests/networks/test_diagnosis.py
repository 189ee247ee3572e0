"""A diagnosis says what sites can do before anything is fitted."""

import numpy as np
import pytest
import torch
from torch import nn

from tests.networks.concept_networks import (
    ADDER_SITES,
    ExactAdder,
    adder_bits,
    dense_bits,
    dense_or,
)
from ucad.errors import InvalidInputError
from ucad.networks import Above, AllLabels, DiagnosisSettings, diagnose, record

FEW = DiagnosisSettings(n_pairs=80, n_rows=400)


@pytest.fixture(scope="module")
def adder():
    return diagnose(ExactAdder(), adder_bits(), ADDER_SITES, decide=AllLabels(), settings=FEW)


def test_the_context_of_a_recurrent_state_is_the_next_input(adder):
    assert adder["cell#0"].context == ("input[1,0]", "input[1,1]")
    assert adder["cell#1"].context == ("input[2,0]", "input[2,1]")
    assert adder.covariates == tuple(f"input[{t},{b}]" for t in (1, 2) for b in (0, 1))


def test_a_state_without_its_context_does_not_explain_the_next(adder):
    assert adder["cell#0"].r2 < 0.7
    assert adder["cell#0"].r2_in_context > 0.95


def test_the_edge_moves_less_than_the_node_and_does_not_decide_alone(adder):
    line = adder["cell#0"]
    assert 0.1 < line.moved_next < line.moved
    assert line.follows < 0.6


def test_a_dense_site_decides_alone_and_has_no_context():
    found = diagnose(dense_or(), dense_bits(), ["1", "3"], settings=FEW)
    assert found["1"].follows > 0.99
    assert found["1"].context == ()
    assert found["1"].depends_on == tuple(f"input[{k}]" for k in range(5))


class Idle(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.side, self.last = (nn.Linear(2, 2) for _ in range(3))

    def forward(self, x):
        self.side(x)
        return self.last(torch.tanh(self.first(x)))[:, :1]


def test_a_site_that_moves_nothing_is_refused_with_the_nearest_that_does():
    torch.manual_seed(0)
    x = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    found = diagnose(Idle(), x, ["side", "first", "last"], settings=FEW)
    assert found["side"].moved == 0
    found.check_can_steer("last")
    with pytest.raises(InvalidInputError, match="nearest site that does is 'first'"):
        found.check_can_steer("side")


def test_a_recording_is_diagnosed_and_keeps_its_context(tmp_path, adder):
    bits = adder_bits(60)
    found = record(ExactAdder(), bits, ADDER_SITES, context=adder.covariates, directory=tmp_path)
    assert found.data.context.names == adder.covariates
    np.testing.assert_array_equal(
        found.data.context.values[:, 0], bits[found.input_of, 1, 0].astype(float)
    )
    assert found.diagnose(ExactAdder(), bits, decide=AllLabels(), settings=FEW).differ > 0.5


def test_the_text_and_the_json_have_a_line_per_site(adder):
    assert "input[1,0]" in str(adder)
    assert adder.to_json().count('"moved_next"') == 3


def test_an_output_that_always_has_one_sign_is_told_as_what_it_is():
    torch.manual_seed(0)
    x = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1), nn.Softplus())
    found = diagnose(model, x, ["1", "2"], settings=FEW)
    assert "above 0 on 100% of the inputs" in str(found)
    with pytest.raises(InvalidInputError, match="alike on all inputs.*--decide above:"):
        found.check_can_steer("1")
    with torch.no_grad():
        middle = float(model(torch.from_numpy(x)).median())
    named = diagnose(model, x, ["1", "2"], decide=Above((middle,)), settings=FEW)
    assert named["1"].moved > 0.3


class Drawing(torch.nn.Module):
    """Adds noise to its inputs before it decides."""

    def __init__(self, noise):
        super().__init__()
        self.noise, self.first, self.second = noise, torch.nn.Identity(), torch.nn.Identity()

    def forward(self, x):
        return self.second(self.first(x + self.noise * torch.randn_like(x)))


def test_a_network_that_draws_at_random_is_refused_and_steady_ones_are_not():
    x = np.random.default_rng(0).standard_normal((200, 1)).astype(np.float32)
    with pytest.raises(InvalidInputError, match="decides .* of the same inputs otherwise"):
        diagnose(Drawing(1.0), x, ["first", "second"])
    assert diagnose(Drawing(0.0), x, ["first", "second"]).differ > 0.3


def test_outputs_that_are_no_numbers_are_refused():
    x = np.random.default_rng(0).standard_normal((200, 1)).astype(np.float32)
    x[::2] = np.nan
    with pytest.raises(InvalidInputError, match="no number"):
        diagnose(Drawing(0.0), x, ["first", "second"])
    with pytest.raises(InvalidInputError, match="1 of 1 units are no finite numbers"):
        record(Drawing(0.0), x, ["first"])


def test_inputs_that_are_texts_or_none_are_refused():
    with pytest.raises(InvalidInputError, match="tokens first"):
        diagnose(Drawing(0.0), np.array(["a", "b"]), ["first"])
    with pytest.raises(InvalidInputError, match="must have rows"):
        diagnose(Drawing(0.0), np.zeros((0, 1), dtype=np.float32), ["first"])
