"""`Rest`: the part after a site gives what the whole network gives, and runs nothing else."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from tests.networks.models import Transformer
from ucad.networks.activation import Activation
from ucad.networks.passes import input_rows
from ucad.networks.rest import Rest, SiteReadout
from ucad.networks.subject import Subject


class Encoder(nn.Module):
    """Two blocks over tokens, a mean in between that no module computes, and a head."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(2))
        self.head = nn.Sequential(nn.Linear(8, 4), nn.ReLU(inplace=True), nn.Linear(4, 2))

    def forward(self, tokens):
        hidden = self.embed(tokens)
        for block in self.blocks:
            hidden = hidden + block(hidden)
        return self.head(hidden.mean(dim=1))


class Draws(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 3), nn.Linear(3, 1)

    def forward(self, x):
        return self.last(self.first(x)) + torch.randn(len(x), 1)


class Remembers(nn.Module):
    """Its first module leaves a note for the last one, which a copied output does not renew."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 3), nn.Linear(3, 1)
        self.notes = []
        self.first.register_forward_hook(lambda _m, _a, _o: self.notes.append(1))

    def forward(self, x):
        return self.last(self.first(x)) + len(self.notes)


def calls_of(module):
    seen = []
    own = module.forward
    module.forward = lambda *given, **named: seen.append(1) or own(*given, **named)
    return seen


TOKENS = torch.randint(10, (30, 5), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("model", "site"),
    [
        (Encoder(), "blocks.1.0:mean"),
        (Encoder(), "blocks.0@2"),
        (Encoder(), "head.1"),
        (Encoder(), "head.2~in"),
        (Transformer(), "blocks.1@-1"),
    ],
)
def test_the_rest_gives_what_the_whole_network_gives(model, site):
    subject = Subject.of(model, TOKENS, [site])
    rest = Rest(subject, 0)
    assert rest.is_apart
    inputs = input_rows(model, TOKENS, np.arange(30))
    run = rest.on(inputs)
    for seed in range(2):
        values = torch.randn(30, len(subject.sites[0].units), requires_grad=True)
        torch.manual_seed(seed)
        alone, whole = run(values), subject.output(inputs, 0, values)
        torch.testing.assert_close(alone, whole)
        slopes = [torch.autograd.grad(one.square().sum(), values)[0] for one in (alone, whole)]
        torch.testing.assert_close(*slopes)
    assert all("forward" not in vars(module) for module in model.modules())


@pytest.mark.parametrize("site", ["cell#1", "cell#2"])
def test_a_module_that_is_called_at_every_step_is_run_from_the_site_on(site):
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.out = nn.GRUCell(2, 4), nn.Linear(4, 1)

        def forward(self, x):
            state = torch.zeros(len(x), 4)
            for t in range(x.shape[1]):
                state = self.cell(x[:, t], state)
            return self.out(state)

    model, x = Recurrent(), torch.randn(12, 4, 2)
    subject = Subject.of(model, x, [site])
    run = Rest(subject, 0).on(x)
    values, seen = torch.randn(12, 4), calls_of(model.cell)
    torch.testing.assert_close(run(values), subject.output(x, 0, values))
    assert len(seen) == 4 + (2 if site == "cell#1" else 1)


def test_steps_of_a_fused_module_are_run_as_before():
    class Fused(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.gru, self.out = nn.Linear(2, 2), nn.GRU(2, 4, batch_first=True), None
            self.out = nn.Linear(4, 1)

        def forward(self, x):
            return self.out(self.gru(self.before(x))[0][:, -1])

    model, x = Fused(), torch.randn(12, 4, 2)
    subject = Subject.of(model, x, ["gru#1"])
    rest = Rest(subject, 0)
    assert rest.is_apart
    values = torch.randn(12, 4)
    torch.testing.assert_close(rest.on(x)(values), subject.output(x, 0, values))


def test_what_comes_before_the_site_is_run_once():
    model = Encoder()
    subject = Subject.of(model, TOKENS, ["head.1"])
    run = Rest(subject, 0).on(TOKENS)
    before, after = calls_of(model.blocks[0]), calls_of(model.head[2])
    for _ in range(3):
        run(torch.randn(30, 4))
    assert (len(before), len(after)) == (0, 3)


@pytest.mark.parametrize("model", [Draws(), Remembers()])
def test_a_network_that_cannot_be_cut_is_run_as_a_whole(model):
    x = torch.randn(20, 3)
    rest = Rest(Subject.of(model, x, ["first"]), 0)
    assert not rest.is_apart
    seen = calls_of(model.first)
    rest.on(x)(torch.randn(20, 3))
    assert len(seen) == 1


def test_too_much_to_keep_is_run_again(monkeypatch):
    subject = Subject.of(Encoder(), TOKENS, ["head.1"])
    rest = Rest(subject, 0)
    monkeypatch.setattr("ucad.networks.rest.MAX_BYTES", 1)
    seen = calls_of(subject.model.embed)
    rest.on(TOKENS)(torch.randn(30, 4))
    assert len(seen) == 1


def test_a_readout_of_many_rows_is_the_head_and_can_be_pickled(monkeypatch):
    monkeypatch.setattr("ucad.networks.rest.MAX_ROWS", 7)
    model = Encoder()
    read = SiteReadout(Rest(Subject.of(model, TOKENS, ["head.1"]), 0), Activation.RELU)
    values = torch.rand(30, 4)
    torch.testing.assert_close(read(values), model.head[2](values))
    again = pickle.loads(pickle.dumps(read))
    torch.testing.assert_close(again(values), model.head[2](values))


def test_batches_smaller_than_the_inputs_decide_the_same():
    subject = Subject.of(Encoder(), TOKENS, ["head.1"])
    values = np.random.default_rng(0).random((30, 4))
    whole = subject.decisions(TOKENS, 0, values)
    np.testing.assert_array_equal(
        replace(subject, batch_size=7).decisions(TOKENS, 0, values), whole
    )
