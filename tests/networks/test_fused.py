"""States of fused recurrent modules are sites like any other."""

import numpy as np
import pytest
import torch
from torch import nn

from ucad.errors import InvalidInputError
from ucad.networks import diagnose, record
from ucad.networks.passes import forward, resolve_sites
from ucad.networks.sites import Site, layers_of


class Recurrent(nn.Module):
    def __init__(self, kind=nn.GRU, **options):
        super().__init__()
        torch.manual_seed(0)
        self.memory = kind(2, 4, batch_first=True, **options)
        self.head = nn.Linear(options.get("proj_size", 0) or 4, 1)

    def forward(self, sequence):
        return self.head(self.memory(sequence)[0])[:, :, 0]


SEQUENCES = torch.randn(12, 5, 2, generator=torch.Generator().manual_seed(1))


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize(
    ("kind", "options", "width"),
    [
        (nn.RNN, {}, 4),
        (nn.GRU, {"num_layers": 2}, 8),
        (nn.LSTM, {}, 8),
        (nn.LSTM, {"num_layers": 2, "proj_size": 3}, 14),
    ],
)
def test_a_state_put_back_changes_nothing_and_one_from_elsewhere_goes_on(kind, options, width):
    model = Recurrent(kind, **options)
    plain = model(SEQUENCES)
    sites = resolve_sites(model, SEQUENCES, [Site("memory", call=1), Site("memory", call=3)])
    assert [len(site.units) for site in sites] == [width, width]
    passed = forward(model, SEQUENCES, sites)
    torch.testing.assert_close(passed.output, plain)
    other = passed.units[:, :width].flip(0)
    edited = forward(model, SEQUENCES, sites, lambda i, _: other if i == 0 else None)
    assert not torch.allclose(edited.units[:, width:], passed.units[:, width:])
    # Row r now is: the first two steps of row −r, then its own.
    spliced = torch.cat([SEQUENCES.flip(0)[:, :2], SEQUENCES[:, 2:]], dim=1)
    torch.testing.assert_close(edited.output[:, 1:], model(spliced)[:, 1:])
    torch.testing.assert_close(edited.output[:, 0], plain[:, 0])
    assert "forward" not in vars(model.memory)


class CellLoop(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cell, self.head = nn.LSTMCell(2, 4), nn.Linear(4, 1)

    def forward(self, sequence):
        state, outputs = None, []
        for step in range(sequence.shape[1]):
            state = self.cell(sequence[:, step], state)
            outputs.append(self.head(state[0]))
        return torch.cat(outputs, dim=1)


def test_hidden_state_and_cell_of_a_loop_are_one_site():
    model = CellLoop()
    (site,) = resolve_sites(model, SEQUENCES, [Site("cell", call=1)])
    assert len(site.units) == 8
    passed = forward(model, SEQUENCES, [site])
    edited = forward(model, SEQUENCES, [site], lambda _i, values: values.flip(0))
    spliced = torch.cat([SEQUENCES.flip(0)[:, :2], SEQUENCES[:, 2:]], dim=1)
    torch.testing.assert_close(edited.output[:, 1:], model(spliced)[:, 1:])
    torch.testing.assert_close(passed.output, model(SEQUENCES))


class WithNone(nn.Module):
    """A layer as of an encoder: its output, and no attention weights."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.head = Pair(), nn.Linear(4, 1)

    def forward(self, sequence):
        return self.head(self.layer(sequence)[0])[:, :, 0]


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 4)

    def forward(self, sequence):
        return self.linear(sequence), None


def test_of_a_tuple_with_one_tensor_that_tensor_is_meant():
    model = WithNone()
    (site,) = resolve_sites(model, SEQUENCES, [Site.parse("layer:mean")])
    assert site.name == "layer:mean"
    passed = forward(model, SEQUENCES, [site])
    torch.testing.assert_close(passed.units, model.layer(SEQUENCES)[0].mean(dim=1))
    edited = forward(model, SEQUENCES, [site], lambda _i, values: values + 1)
    assert not torch.allclose(edited.output, passed.output)


def test_the_output_at_a_step_is_the_part_of_the_state_that_is_given_out():
    model = Recurrent(nn.LSTM, num_layers=2)
    (site,) = resolve_sites(model, SEQUENCES, [Site.parse("memory/0@2")])
    assert site.name == "memory#2/0"
    given = model.memory(SEQUENCES)[0][:, 2]
    torch.testing.assert_close(forward(model, SEQUENCES, [site]).units, given)
    zero = forward(model, SEQUENCES, [site], lambda _, old: torch.zeros_like(old)).output
    assert (zero[:, 3:] - model(SEQUENCES)[:, 3:]).abs().max() > 1e-3


def test_steps_are_layers_of_their_own_and_later_inputs_are_context():
    model = Recurrent()
    found = record(model, SEQUENCES.numpy(), ["memory#0", "memory@1"])
    assert [site.name for site in found.sites] == ["memory#0", "memory#1"]
    assert layers_of(found.sites).tolist() == [0] * 4 + [1] * 4
    checked = diagnose(model, SEQUENCES.numpy(), ["memory#0", "memory#1"])
    assert checked.sites[0].context == ("input[1,0]", "input[1,1]")


def test_time_may_be_the_first_axis():
    torch.manual_seed(0)
    gru = nn.GRU(2, 3)

    class Turned(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = gru

        def forward(self, sequence):
            return self.gru(sequence.transpose(0, 1))[1][0]

    (site,) = resolve_sites(Turned(), SEQUENCES, [Site("gru", call=4)])
    torch.testing.assert_close(forward(Turned(), SEQUENCES, [site]).units, Turned()(SEQUENCES))


@pytest.mark.parametrize(
    ("site", "options", "message"),
    [
        ("memory", {}, "name one, counted from 0, as 'memory#0'"),
        ("memory@-1", {}, "name one, counted from 0"),
        ("memory#9", {}, "5 steps, 0 to 4"),
        ("memory#1", {"bidirectional": True}, "reads from both ends"),
    ],
)
def test_what_is_no_state_is_refused_with_what_to_write(site, options, message):
    model = Recurrent(**options)
    model.head = nn.Linear(8 if options else 4, 1)
    with pytest.raises(InvalidInputError, match=message):
        resolve_sites(model, np.asarray(SEQUENCES), [Site.parse(site)])
