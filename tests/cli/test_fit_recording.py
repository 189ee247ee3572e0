"""`ucad fit recording/ --model …`: the network itself is asked, and steering works with the run."""

from pathlib import Path

import numpy as np
import pytest

from tests.networks.concept_networks import dense_bits
from ucad.cli import main
from ucad.runs import load_run
from ucad.solvers.layered import fit_bottleneck

SCRIPT = """
from tests.networks.concept_networks import dense_or
model = dense_or()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "network.py").write_text(SCRIPT)
    np.save("inputs.npy", dense_bits(400))
    return tmp_path


def run(*words):
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    return stop.value.code


def test_a_check_alone_writes_nothing(folder, capsys):
    words = ("record", "network.py:model", "--inputs", "inputs.npy", "--sites", "1", "3")
    assert run(*words, "--check") == 0
    assert "by the next" in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == ["inputs.npy", "network.py"]
    assert run(*words) == 2


def test_the_command_that_record_prints_finds_the_concepts(folder, capsys):
    words = ("record", "network.py:model", "--inputs", "inputs.npy", "--sites", "1", "3", "--quiet")
    assert run(*words, "--per-clamp", "5", "-o", "recording") == 0
    printed = capsys.readouterr().out.rpartition("Next: ucad ")[2].split()
    assert run(*printed, "--quiet") == 0
    told = capsys.readouterr().out
    assert "Z2 = input[2] input[3]" in told
    steer = told.rpartition("Next:")[2].splitlines()[0].split()[1:]
    cheap = ("--pairs", "60", "--draws", "2", "--ceiling", "0")
    assert run(*steer, *cheap) == 0
    table = capsys.readouterr().out
    assert "input[0] input[1]: best factor Z1" in table
    assert "Without labels, right is what the network itself decides" in table
    x = np.load("inputs.npy") > 0.5
    labels = {"first": x[:, 0] & x[:, 1], "second": x[:, 2] ^ x[:, 3]}
    np.savez("labels.npz", outcome=labels["first"] | labels["second"], **labels)
    assert run(*steer, "--labels", "labels.npz", *cheap) == 0
    assert "first: best factor Z1" in capsys.readouterr().out
    found = load_run("run")
    assert found.settings["replaces"] is True
    assert found.scm.graph.n_factors == 2


def test_behaviour_without_the_network_says_what_is_missing(folder, capsys):
    words = ("record", "network.py:model", "--inputs", "inputs.npy", "--sites", "1", "3", "--quiet")
    run(*words, "--per-clamp", "5", "-o", "recording")
    assert run("fit", "recording", "--solver", "behaviour", "-o", "run") == 2
    assert "--model script.py:name" in capsys.readouterr().err


def test_a_network_is_refused_for_a_file_that_is_no_recording(folder, capsys):
    assert run("fit", "inputs.npy", "--model", "network.py:model", "-o", "run") == 2
    assert "folder that ucad record has written" in capsys.readouterr().err


SLOW_SCRIPT = """
import pathlib, signal, time
import torch
from torch import nn

class Slow(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Sequential(nn.Linear(6, 12), nn.Tanh())
        self.second = nn.Sequential(nn.Linear(12, 8), nn.Tanh())
        self.wait, self.last = Wait(), nn.Linear(8, 1)

    def forward(self, x):
        return self.last(self.wait(self.second(self.first(x))))

class Wait(nn.Module):
    def forward(self, x):
        time.sleep(0.02)
        steps = pathlib.Path("steps")
        if steps.exists():
            left = int(steps.read_text()) - 1
            steps.write_text(str(left)) if left else steps.unlink()
            if not left:
                signal.raise_signal(signal.SIGTERM)
        return x

model = Slow()
"""


@pytest.fixture
def slow(folder):
    """A network that waits after its last site, so that nothing spares a step of training that.

    Where a file `steps` holds a number, that many evaluations later it asks the process to end.
    """
    (folder / "network.py").write_text(SLOW_SCRIPT)
    shared = np.random.default_rng(0).normal(size=(400, 1))
    np.save("inputs.npy", (shared + 0.3 * np.random.default_rng(1).normal(size=(400, 6))))
    words = ("record", "network.py:model", "--inputs", "inputs.npy", "--sites", "first", "second")
    assert run(*words, "--per-clamp", "0", "--quiet", "-o", "recording") == 0
    fit = ("fit", "recording", "--model", "network.py:model", "--solver", "bottleneck")
    return (*fit, "-o", "run")


def test_a_budget_ends_the_fit_of_a_slow_network_with_the_best_so_far(slow, capsys):
    assert run(*slow, "--budget", "4") == 1
    told = capsys.readouterr().out
    assert "It ends after about 4 s with the best so far (--budget)." in told
    assert "The budget of 4 s ended." in told
    assert not load_run("run").status.converged


def test_a_request_to_stop_is_heard_at_once_and_keeps_the_best_so_far(slow, monkeypatch):
    fits = []

    def stopped(*given, **named):
        fits.append(1)
        Path("steps").write_text("8")
        return fit_bottleneck(*given, **named)

    monkeypatch.setattr("ucad.networks.narrow.fit_bottleneck", stopped)
    assert run(*slow, "--quiet") == 1
    assert len(fits) == 1
    status = load_run("run").status
    assert status.interrupted
    assert "the search for the number of factors was cut short" in " ".join(status.notes)


def test_record_gives_a_budget_to_the_fit_of_a_slow_network(folder, monkeypatch, capsys):
    words = ("record", "network.py:model", "--inputs", "inputs.npy", "--sites", "1", "3", "--quiet")
    words += ("--per-clamp", "0", "-o", "recording")
    assert run(*words) == 0
    assert "--budget" not in capsys.readouterr().out
    monkeypatch.setattr("ucad.networks.cost.SLOW_SECONDS", 0.0)
    assert run(*words[:-1], "again") == 0
    assert "--inputs inputs.npy --budget 600 -o run/" in capsys.readouterr().out
