"""Checkpoints: which are resumed, and which are set aside."""

from dataclasses import replace

import numpy as np
import pytest
from safetensors.torch import save_file

from tests.solvers.gradient.conftest import start_of, with_training
from ucad.solvers.gradient.checkpoint import Checkpoint
from ucad.solvers.gradient.training import Run, Training, train


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


def trained(learner, path, progress=None, **belongs_to):
    learner = replace(learner, config=with_training(learner.config, epochs=4))
    grid = learner.config.training.grid(seed=0)
    start = start_of(learner, [one.seed for one in grid])
    return train(learner, start, grid, Run(0, progress, Checkpoint(path, belongs_to)))


def test_a_checkpoint_of_the_same_fit_is_resumed(learner, path):
    first = trained(learner, path, data="a", settings="b")
    again = trained(learner, path, data="a", settings="b")
    assert again.about_checkpoint == "Training was resumed after 4 epochs."
    assert first.history == again.history


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"data": "x", "settings": "b"}, "other data"),
        ({"data": "a", "settings": "x"}, "other settings"),
        ({"data": "x", "settings": "x"}, "other data and settings"),
    ],
)
def test_a_checkpoint_of_another_fit_is_set_aside_and_named(learner, path, other, named, caplog):
    trained(learner, path, data="a", settings="b")
    kept, events = path.read_bytes(), []
    found = trained(learner, path, events.append, **other)
    assert f"it belongs to a fit with {named}" in found.about_checkpoint
    assert "run.checkpoint.stale" in found.about_checkpoint
    assert found.about_checkpoint in caplog.text
    assert events[0].message == found.about_checkpoint
    assert path.with_name("run.checkpoint.stale").read_bytes() == kept
    assert trained(learner, path, **other).about_checkpoint.startswith("Training was resumed")


@pytest.mark.parametrize("damage", ["empty", "text", "half", "foreign", "folder"])
def test_a_damaged_checkpoint_is_set_aside(learner, path, damage):
    trained(learner, path)
    content = path.read_bytes()
    if damage == "folder":
        path.unlink()
        path.mkdir()
    elif damage == "foreign":
        save_file(start_of(learner, [0]), path)
    else:
        path.write_bytes({"empty": b"", "text": b"hello" * 99, "half": content[:-99]}[damage])
    found = trained(learner, path)
    assert "was not used" in found.about_checkpoint
    assert found.nll.isfinite().all()
    assert path.is_file()


def test_no_changed_byte_goes_unnoticed_or_ends_in_a_traceback(learner, path):
    trained(learner, path, data="a")
    content, rng = path.read_bytes(), np.random.default_rng(0)
    grid = learner.config.training.grid(seed=0)
    start = start_of(learner, [one.seed for one in grid])
    first = Training(learner, start, grid, seed=0).first_state()
    for at in [*range(0, 64, 8), *rng.integers(len(content), size=40).tolist()]:
        broken = bytearray(content)
        broken[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(broken))
        state, note = Checkpoint(path, {"data": "a"}).resume(first)
        assert "was not used" in note, at
        assert state is first


def test_without_a_file_there_is_nothing_to_say(learner, path):
    assert trained(learner, path).notes == ()
