"""Inputs, outputs and names of modules as people have them."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from tests.networks.models import Transformer, mlp
from ucad.errors import InvalidInputError
from ucad.networks import RecordSettings, Site, record, recording_cost
from ucad.networks.inputs import check_inputs
from ucad.networks.passes import forward

FEW = RecordSettings(per_clamp=5)


@dataclass
class Answer:
    logits: torch.Tensor
    hidden: torch.Tensor


class Encoder(nn.Module):
    """Looks up tokens, mixes them through two heads, and gives a dataclass."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(9, 4)
        self.dense = nn.Linear(4, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, input_ids, attention_mask=None):
        hidden = self.dense(torch.tanh(self.embedding(input_ids)))
        return Answer(self.out(hidden), hidden)


class Headed(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(4, 3)

    def forward(self, **inputs):
        return self.head(self.encoder(**inputs).hidden[:, 0])


IDS = torch.randint(9, (30, 5), generator=torch.Generator().manual_seed(1))
MASK = (torch.arange(5) < torch.arange(30)[:, None] % 5 + 1).long()
INPUTS = {"input_ids": IDS, "attention_mask": MASK, "@subject": torch.arange(30) % 5}


def hidden():
    with torch.no_grad():
        return Encoder()(IDS).hidden


def test_a_mean_over_tokens_follows_the_attention_mask():
    data = record(Encoder(), INPUTS, ["dense:mean"], settings=FEW).data
    assert data.n_variables == 4
    kept = MASK[:, :, None] != 0
    wanted = (hidden() * kept).sum(dim=1) / kept.sum(dim=1)
    np.testing.assert_allclose(data.x[:30], wanted.numpy(), atol=1e-6)


def test_positions_come_from_an_array_that_the_model_does_not_get():
    data = record(Encoder(), INPUTS, ["dense@subject", "/hidden@last"], settings=FEW).data
    wanted = hidden()[torch.arange(30), INPUTS["@subject"]]
    np.testing.assert_allclose(data.x[:30, :4], wanted.numpy(), atol=1e-6)
    last = hidden()[torch.arange(30), MASK.sum(dim=1) - 1]
    np.testing.assert_allclose(data.x[:30, 4:], last.numpy(), atol=1e-6)


def test_the_input_of_a_module_can_be_read_and_clamped_head_by_head():
    data = record(Encoder(), INPUTS, ["dense~in@0%1of2", "dense@0"], settings=FEW).data
    assert data.variable_names[:2] == ("dense~in@0%1of2[0]", "dense~in@0%1of2[1]")
    assert data.layer_of.tolist() == [0, 0, 1, 1, 1, 1]
    with torch.no_grad():
        before = torch.tanh(Encoder().embedding(IDS))[:, 0, 2:]
    np.testing.assert_allclose(data.x[:30, :2], before.numpy(), atol=1e-6)
    clamped = data.regime == 1
    spread = np.ptp(data.x[clamped][:, 2:], axis=0)
    assert (spread > 0).all(), "what follows the input follows the clamp"


def test_sites_keep_their_names_when_a_head_is_put_around_the_model_or_taken_off():
    model = Encoder()
    bare = record(model, INPUTS, ["dense@0"], settings=FEW).data
    wrapped = record(Headed(model), INPUTS, ["dense@0"], settings=FEW).data
    assert wrapped.fingerprint == bare.fingerprint
    assert forward(model, INPUTS, [Site("deep.encoder.dense", position=0)]).units.shape == (30, 4)
    twice = nn.Sequential(mlp(), mlp())
    with pytest.raises(InvalidInputError, match=r"several modules that end in '4': 0.4, 1.4"):
        record(twice, torch.randn(9, 5), ["4"])


def test_texts_and_wrong_keywords_are_sentences():
    for wrong in (["a text", "another"], np.array(["a", "b"]), "one text"):
        with pytest.raises(InvalidInputError, match="turned into tokens first"):
            check_inputs(wrong)
    with pytest.raises(InvalidInputError, match="numpy.asarray"):
        check_inputs([[1, 2], [3, 4]])
    assert isinstance(check_inputs([IDS, MASK]), tuple)
    with pytest.raises(InvalidInputError, match=r"takes \(input_ids, attention_mask\)") as told:
        record(Encoder(), {"inputs_ids": IDS}, ["dense@0"])
    assert "Did you mean 'input_ids'" in str(told.value)


def test_channels_over_time_are_not_taken_for_tokens():
    model = nn.Sequential(nn.Conv1d(2, 3, 3), nn.Flatten(), nn.Linear(18, 1))
    x = torch.randn(20, 2, 8)
    with pytest.raises(InvalidInputError, match=":channel-mean"):
        record(model, x, ["0:mean"])
    assert record(model, x, ["0:channel-mean"], settings=FEW).data.n_variables == 3


def test_the_projection_of_torchs_attention_is_never_called_and_that_is_said():
    with pytest.raises(InvalidInputError, match="computes all heads in one step"):
        record(Transformer(), torch.randint(10, (9, 4)), ["blocks.0.attention.out_proj~in@0"])


def test_clamps_follow_the_width_and_the_cost_is_known_before():
    settings = RecordSettings()
    assert settings.per_clamp_for(400, 8) == 200
    assert settings.per_clamp_for(2000, 1152) == 6
    assert settings.per_clamp_for(100, 1152) == 4
    cost = recording_cost(mlp(), torch.randn(60, 5), ["1", "3"], settings)
    assert cost.units == {"1": 6, "3": 4}
    assert (cost.per_clamp, cost.rows) == (24, 300)
    assert "24 for each of 10 clamps" in str(cost)
