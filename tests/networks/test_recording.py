import numpy as np
import pytest
import torch
from torch import nn

import ucad
from tests.networks.models import Convolutional, Recurrent, Transformer, mlp
from ucad.errors import FormatError, InvalidInputError
from ucad.networks import Pooling, RecordSettings, Site, load_recording, record
from ucad.networks.sites import sites_of_names, variable_names

X = torch.randn(60, 5, generator=torch.Generator().manual_seed(0))
FEW = RecordSettings(per_clamp=20, batch_size=37)


def columns(recording, site):
    return [j for j, name in enumerate(recording.data.variable_names) if name.startswith(site)]


@pytest.mark.parametrize("inplace", [False, True])
def test_observational_values_equal_a_manual_pass_also_before_operations_in_place(inplace):
    model = mlp(inplace)
    data = record(model, X, ["0", "1", "3"], settings=FEW).data
    with torch.no_grad():
        first = mlp()[0](X)
        second = torch.relu(first)
        third = torch.relu(mlp()[2](second))
    manual = torch.cat([first, second, third], dim=1).numpy()
    live = [int(name.split("[")[1][:-1]) for name in data.variable_names]
    expected = manual[:, [live[j] + (0, 6, 12)[data.layer_of[j]] for j in range(len(live))]]
    np.testing.assert_allclose(data.x[:60], expected, atol=1e-6)


@pytest.mark.parametrize("inplace", [False, True])
def test_a_clamp_holds_its_unit_leaves_what_is_upstream_and_moves_what_is_downstream(inplace):
    recording = record(mlp(inplace), X, ["1", "3"], settings=FEW)
    data, observed = recording.data, recording.data.x[:60]
    for regime in range(1, data.n_regimes):
        rows = np.flatnonzero(data.regime == regime)
        (unit,) = np.flatnonzero(data.targets[regime])
        assert data.regime_names[regime] == data.variable_names[unit]
        assert np.isin(data.x[rows, unit], observed[:, unit]).all()
        clean = observed[recording.input_of[rows]]
        others = (data.layer_of <= data.layer_of[unit]) & (np.arange(data.n_variables) != unit)
        np.testing.assert_allclose(data.x[rows][:, others], clean[:, others], atol=1e-6)
        with torch.no_grad():
            if data.layer_of[unit] == 0:
                hidden = torch.relu(mlp()[0](X))[recording.input_of[rows]]
                hidden[:, recording.sites[0].units[unit]] = torch.tensor(data.x[rows, unit]).float()
                later = torch.relu(mlp()[2](hidden)).numpy()[:, list(recording.sites[1].units)]
                np.testing.assert_allclose(data.x[rows][:, data.layer_of == 1], later, atol=1e-6)


def test_groups_are_clamped_jointly_to_values_of_one_input():
    names = ("1[0]", "1[1]")
    settings = RecordSettings(per_clamp=30, each_unit=False, groups=(names,))
    model = nn.Sequential(nn.Linear(5, 2), nn.Tanh(), nn.Linear(2, 2), nn.Tanh())
    data = record(model, X, ["1", "3"], settings=settings).data
    assert data.regime_names == ("observational", "1[0];1[1]")
    pairs = {tuple(row) for row in data.x[:60, :2].tolist()}
    assert {tuple(row) for row in data.x[60:, :2].tolist()} <= pairs
    with pytest.raises(InvalidInputError, match="Did you mean"):
        record(model, X, ["1"], settings=RecordSettings(groups=(("1[O]",),)))


def test_dead_units_are_named_and_left_out():
    model = mlp()
    with torch.no_grad():
        model[0].bias[2] = -100.0
    recording = record(model, X, ["1", "3"], settings=FEW)
    assert "1[2]" in recording.dead
    assert "1[2]" not in recording.data.variable_names
    assert variable_names(recording.sites) == recording.data.variable_names
    assert sites_of_names(recording.data.variable_names) == recording.sites


@pytest.mark.parametrize("pooling", list(Pooling))
def test_a_pooled_channel_is_clamped_as_a_whole_map(pooling):
    model = Convolutional()
    images = torch.randn(40, 1, 6, 6)
    sites = [Site("norm", pooling=pooling), Site("second", pooling=pooling)]
    recording = record(model, images, sites, settings=FEW)
    data = recording.data
    assert data.variable_names[0] == f"norm:{pooling}[0]"
    model.eval()
    with torch.no_grad():
        maps = model.norm(model.first(images))
        pooled = maps.mean(dim=(2, 3)) if pooling.is_mean else maps.amax(dim=(2, 3))
        np.testing.assert_allclose(data.x[:40, :3], pooled.numpy(), atol=1e-6)
        rows = np.flatnonzero(data.regime == 2)
        maps = maps[recording.input_of[rows]]
        maps[:, 1] = torch.tensor(data.x[rows, 1]).float()[:, None, None]
        later = model.second(torch.tanh(maps))
        later = later.mean(dim=(2, 3)) if pooling.is_mean else later.amax(dim=(2, 3))
    np.testing.assert_allclose(data.x[rows][:, 3:], later.numpy(), atol=1e-5)


def test_a_transformer_is_recorded_at_a_token():
    model, tokens = Transformer(), torch.randint(10, (50, 4))
    sites = ["blocks.0@-1", "blocks.1.mlp.1@2", "blocks.1@-1"]
    with pytest.raises(InvalidInputError, match="order in which"):
        record(model, tokens, [sites[2], sites[0]])
    data = record(model, tokens, sites, settings=FEW).data
    model.eval()
    with torch.no_grad():
        stream = model.blocks[0](model.embedding(tokens))
        np.testing.assert_allclose(data.x[:50, :8], stream[:, -1].numpy(), atol=1e-5)
        clamped = np.flatnonzero(data.regime == 1)
        assert (np.ptp(data.x[clamped][:, -8:] - data.x[:50][:, -8:].mean(axis=0)) > 0).all()
    assert data.layer_of.tolist() == [0] * 8 + [1] * 12 + [2] * 8


def test_two_tokens_of_one_module_share_a_layer():
    data = record(Transformer(), torch.randint(10, (50, 4)), ["blocks.0@0", "blocks.0@1"]).data
    assert set(data.layer_of.tolist()) == {0}


class Twice(torch.nn.Module):
    """Two tensors of tokens."""

    def __init__(self):
        super().__init__()
        self.both = Both()

    def forward(self, x):
        return self.both(x)[0][:, 0]


class Both(torch.nn.Module):
    def forward(self, x):
        return x[:, None] * 2, x[:, None] * 3


def test_a_tuple_needs_an_element_and_a_module_called_twice_a_call():
    model, tokens = Transformer(), torch.randint(10, (50, 4))
    with pytest.raises(InvalidInputError, match="'both' gives a tuple of 2"):
        record(Twice(), X, [Site("both", position=0)])
    with pytest.raises(InvalidInputError, match="no output 3"):
        record(model, tokens, [Site("blocks.0.attention", position=0, output=3)])
    data = record(model, tokens, ["blocks.0.attention/0@1", "blocks.0@1"], settings=FEW).data
    rows = data.regime == 1
    assert data.is_intervened[rows, 0].all()
    assert np.isin(data.x[rows, 0], data.x[:50, 0]).all()
    with pytest.raises(InvalidInputError, match="'cell' is called more than once"):
        record(Recurrent(), X, ["cell"])
    twice = record(Recurrent(), X, ["cell#0", "cell#1"], settings=FEW).data
    with torch.no_grad():
        once = Recurrent().cell(X)
        np.testing.assert_allclose(twice.x[:60, :5], once.numpy(), atol=1e-6)
        second = Recurrent().cell(torch.tanh(once))
    np.testing.assert_allclose(twice.x[:60, 5:], second.numpy(), atol=1e-6)


def test_an_element_of_a_mapping_can_be_clamped():
    data = record(Recurrent(), X, [Site("", output="hidden")], settings=FEW).data
    assert data.variable_names[0] == "/hidden[0]"
    assert np.isin(data.x[data.regime == 1, 0], data.x[:60, 0]).all()


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = self.other = nn.Linear(5, 5)

    def forward(self, x):
        return self.other(torch.tanh(self.one(x)))


@pytest.mark.parametrize(
    ("model", "sites", "message"),
    [
        (mlp(), ["9"], "no module '9'"),
        (Convolutional(), ["secnd:mean"], "Did you mean 'second'"),
        (Recurrent(), ["idle"], "does not call the module 'idle'"),
        (Recurrent(), ["cell#5"], "often enough for call 5"),
        (Shared(), ["other"], "'other' is called more than once"),
        (mlp(), ["0", "0"], r"'0\[0\]' twice"),
        (mlp(), ["1@0"], r"'1' must have the shape \(rows, tokens, features\)"),
        (mlp(), ["1[9]"], "below 6"),
        (mlp(), [], "At least one site"),
        (mlp(), ["1::2"], "A site must be written"),
        (nn.Flatten(0), [""], "inputs on its first axis"),
        (3, ["1"], "torch.nn.Module"),
    ],
)
def test_what_cannot_be_recorded_is_refused_by_name(model, sites, message):
    with pytest.raises(InvalidInputError, match=message):
        record(model, X[:, :, None] if isinstance(model, nn.Flatten) else _inputs(model), sites)


def _inputs(model):
    return torch.randn(20, 1, 6, 6) if isinstance(model, Convolutional) else X


class Failing(nn.Module):
    def __init__(self, error):
        super().__init__()
        self.layers, self.error, self.passes = mlp(), error, 0
        self.layers[1].eval()

    def forward(self, x):
        self.passes += 1
        if self.passes > 4:
            raise self.error
        return self.layers(x)


@pytest.mark.parametrize("error", [RuntimeError("broken"), KeyboardInterrupt()])
def test_the_model_is_left_as_it_was_also_after_an_error(error):
    model = Failing(error).train()
    model.layers[1].eval()
    modes = [module.training for module in model.modules()]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(type(error)):
        record(model, X, ["layers.1"], settings=FEW)
    assert [module.training for module in model.modules()] == modes
    assert all(not module._forward_hooks for module in model.modules())
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(p.grad is None and p.requires_grad for p in model.parameters())


def test_batch_norm_keeps_its_statistics():
    model = Convolutional().train()
    before = model.norm.running_mean.clone()
    record(model, torch.randn(20, 1, 6, 6), ["first:mean"], settings=FEW)
    assert torch.equal(model.norm.running_mean, before)
    assert model.norm.training


@pytest.mark.parametrize("dead", [False, True])
def test_a_recording_on_disk_is_the_one_in_memory_and_a_data_set(tmp_path, dead):
    model = mlp()
    if dead:
        with torch.no_grad():
            model[0].bias[2] = -100.0
    kept = record(model, X, ["1", "3"], settings=FEW, directory=tmp_path / "r")
    free = record(model, X, ["1", "3"], settings=FEW)
    assert kept.data.fingerprint == free.data.fingerprint
    assert (kept.sites, kept.dead) == (free.sites, free.dead)
    np.testing.assert_array_equal(kept.input_of, free.input_of)
    assert ucad.read(tmp_path / "r").fingerprint == free.data.fingerprint
    assert isinstance(kept.data.x.base, np.memmap)
    assert not list((tmp_path / "r").glob("*.part.npy"))
    assert load_recording(tmp_path / "r").activations == free.activations


@pytest.mark.parametrize("portions", range(1, 8))
def test_an_interrupted_recording_goes_on_with_the_same_result(tmp_path, portions):
    def interrupt(event):
        seen.append(event.done)
        if len(seen) == portions:
            raise KeyboardInterrupt

    seen = []
    settings = RecordSettings(per_clamp=10, batch_size=25)
    with pytest.raises(KeyboardInterrupt):
        record(
            mlp(), X, ["1", "3"], settings=settings, directory=tmp_path / "r", progress=interrupt
        )
    with pytest.raises(FormatError, match="no finished recording"):
        load_recording(tmp_path / "r")
    again = []
    whole = record(
        mlp(), X, ["1", "3"], settings=settings, directory=tmp_path / "r", progress=again.append
    )
    assert (
        whole.data.fingerprint == record(mlp(), X, ["1", "3"], settings=settings).data.fingerprint
    )
    total = record_portions(settings)
    assert len(again) == total - portions


def record_portions(settings):
    events = []
    record(mlp(), X, ["1", "3"], settings=settings, progress=events.append)
    return len(events)


def test_another_recording_is_not_gone_on_with(tmp_path):
    record(mlp(), X, ["1"], settings=FEW, directory=tmp_path / "r")
    with pytest.raises(InvalidInputError, match="other seed"):
        record(mlp(), X, ["1"], settings=FEW, seed=1, directory=tmp_path / "r")
    with pytest.raises(InvalidInputError, match="other inputs"):
        record(mlp(), X + 1, ["1"], settings=FEW, directory=tmp_path / "r")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match="something else"):
        record(mlp(), X, ["1"], settings=FEW, directory=tmp_path / "mine")


def test_inputs_come_by_position_by_name_and_as_arrays():
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(5, 3)

        def forward(self, a, b):
            return self.layer(a + b)

    model = Sum()
    by_position = record(model, (X, X), ["layer"], settings=FEW).data
    by_name = record(model, {"a": X, "b": X}, ["layer"], settings=FEW).data
    assert by_position.fingerprint == by_name.fingerprint
    doubles = record(mlp(), X.numpy().astype(np.float64), ["1"], settings=FEW).data
    assert doubles.fingerprint == record(mlp(), X, ["1"], settings=FEW).data.fingerprint
    with pytest.raises(InvalidInputError, match="same number of rows"):
        record(model, (X, X[:3]), ["layer"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"per_clamp": -1}, "'per_clamp' setting of RecordSettings must be at least 0"),
        ({"observational": 1}, "at least 2"),
        ({"precision": "float16"}, "'float32' or 'float64'"),
        ({"observational": 1000}, "at most the number of inputs, 60"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        record(mlp(), X, ["1"], settings=RecordSettings(**settings))
