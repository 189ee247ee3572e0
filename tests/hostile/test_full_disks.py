"""A disk that is full, or may not be written: one line, nothing lost, nothing half written."""

import os
import shutil
import subprocess

import numpy as np
import pytest

import ucad
from tests.hostile.commands import CODES, PROGRESS, cases, contents, copied
from tests.processes import run

QUICK = ["--solver", "search", "--factor-mechanism", "linear", "--variable-mechanism", "linear"]
NETWORK = """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2), nn.Tanh())
"""
GRID = """
[[grid]]
setting = "b"
size = "16-3"
seed = "0:2"
n_samples = 200
metrics = "fast"
ceiling = false
"""
RECORD = ["record", "model.py:net", "--inputs", "inputs.npy", "--sites", "1", "3"]
COMMANDS = [
    [*RECORD, "--per-clamp", "50", "--quiet", "-o", "disk/new"],
    ["simulate", "b", "16-3", "--samples", "300", "--format", "h5ad", "-o", "disk/new"],
    ["fit", "t.csv", "--factors", "2", *QUICK, "--quiet", "-o", "disk/run", "--force"],
    ["report", "disk/run"],
    ["fit", "t.csv", "--factors", "2", *QUICK, "--quiet", "-o", "disk/new"],
    ["simulate", "b", "16-3", "--samples", "300", "-o", "disk/new"],
    ["simulate", "b", "16-3", "--samples", "300", "--format", "npz", "-o", "disk/new"],
    ["simulate", "b", "16-3", "--samples", "300", "--format", "parquet", "-o", "disk/new"],
    ["export", "disk/run", "--to", "dowhy", "-o", "disk/new"],
    ["export", "disk/run", "--to", "graphml", "-o", "disk/new"],
    ["export", "disk/run", "--to", "json", "-o", "disk/new"],
    ["factors", "t.csv", "--from", "0", "--to", "1", "--quiet", "-o", "disk/new.json"],
    ["sweep", "grid.toml", "--on", "local", "--workers", "1", "--quiet", "-o", "disk/new"],
]
RESUMED = ("record", "sweep")
"""What such a command has done until then is kept, and said to be."""
KIBIBYTES = [4, 8, 12, 20, 28, 40, 60, 80, 100, 150, 250, 400]


@pytest.fixture
def place(tmp_path, monkeypatch, problem, run_folder):
    """A folder with all that the commands need."""
    monkeypatch.chdir(tmp_path)
    ucad.write(problem.train, tmp_path / "t.csv")
    (tmp_path / "model.py").write_text(NETWORK)
    (tmp_path / "grid.toml").write_text(GRID)
    np.save(tmp_path / "inputs.npy", np.random.default_rng(0).normal(size=(400, 3)).astype("f4"))
    return tmp_path


@pytest.fixture
def disk(place, run_folder):
    """A small disk of its own at `disk`, with a run folder on it."""
    (place / "disk").mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place / "disk"]
    if shutil.which("mount") is None or subprocess.run(words, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk, and not everywhere")
    try:
        copied(run_folder, place / "disk" / "run")
        yield place / "disk"
    finally:
        subprocess.run(["umount", "-l", place / "disk"], check=True)


def check(words, done, before, after):
    """One line of ours, the code says what is left, and nothing old is lost."""
    assert done.returncode in CODES, (words, done)
    for line in done.stderr.splitlines():
        assert line.startswith(("ucad: ", *PROGRESS)), (words, line)
    left = {name: what for name, what in after.items() if not name.endswith(".lock")}
    if done.returncode == 2:
        assert done.stderr.strip()
        assert "fails on these inputs" not in done.stderr, "the network is not to blame"
        assert left == before, words
    elif words[0] in RESUMED and done.stderr:
        assert "the same command" in done.stderr
    assert not [name for name in left if name.endswith(".part")], words
    if words[-1] != "--force" and words[0] != "report":
        assert before.items() <= left.items(), words


def filled(disk, free):
    """Leaves so many bytes free on a disk."""
    with (disk / "full").open("wb", buffering=0) as file:
        room = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        os.posix_fallocate(file.fileno(), 0, room - free)


@pytest.mark.parametrize("seed", cases(4, 65))
def test_on_a_full_disk_nothing_is_lost_and_nothing_crashes(disk, seed):
    words = COMMANDS[seed % len(COMMANDS)]
    rng = np.random.default_rng(seed)
    filled(disk, int(rng.choice(KIBIBYTES)) * 1024)
    before = contents(disk)
    done = run(*words)
    check(words, done, before, contents(disk))
    if words[0] in RESUMED:
        (disk / "full").unlink()
        assert run(*words).returncode == 0, "with room, it is resumed"


@pytest.mark.parametrize("seed", cases(4, 65))
def test_where_files_may_not_grow_nothing_is_lost_and_nothing_crashes(place, run_folder, seed):
    words = COMMANDS[seed % len(COMMANDS)]
    copied(run_folder, place / "disk" / "run")
    before = contents(place / "disk")
    size = int(np.random.default_rng(seed).choice(KIBIBYTES)) * 1024
    check(words, run(*words, file_size=size), before, contents(place / "disk"))


@pytest.mark.parametrize("seed", cases(2, len(COMMANDS)))
def test_a_disk_that_may_only_be_read_is_one_line(disk, seed):
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    before = contents(disk)
    done = run(*COMMANDS[seed])
    assert done.returncode == 2
    assert done.stderr.startswith("ucad: ")
    assert len(done.stderr.splitlines()) == 1
    assert contents(disk) == before
