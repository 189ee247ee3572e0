"""`ucad fit recording/ --model …`: the network itself is asked, and steering works with the run."""

import numpy as np
import pytest

from tests.networks.concept_networks import dense_bits
from ucad.cli import main
from ucad.runs import load_run

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
    steer = told.rpartition("Next:")[2].partition("(")[0].split()[1:]
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
