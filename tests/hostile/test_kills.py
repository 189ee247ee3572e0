"""Commands that are killed at any moment lose nothing, and end as if they had never stopped."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import ucad
from tests.hostile.commands import cases, contents, copied
from tests.processes import finish, kill_after, start, wait_for
from ucad.runs import load_run
from ucad.sweep import read_rows

MODEL = """
import time, torch
from torch import nn
torch.manual_seed(0)
class Slow(nn.Module):
    def forward(self, x):
        time.sleep(0.02)
        return x
net = nn.Sequential(nn.Linear(3, 3), Slow(), nn.Tanh(), nn.Linear(3, 2), nn.Tanh())
"""
TASKS = (
    "import time\ndef double(task):\n    time.sleep(0.05)\n    return {'twice': 2 * task['x']}\n"
)
FULL = pytest.mark.hostile_full
ENDINGS = {"> /dev/full": {2}, "| true": {0, 2}, "2>&-": {0}, ">&- 2>&- <&-": {2}}
"""Outputs that nobody takes, and the exit codes; a reader may end before anything is written."""
KINDS = ["--factor-mechanism", "linear", "--variable-mechanism", "linear", "--quiet"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table on which a search takes a second or two."""
    path = tmp_path_factory.mktemp("kills") / "table.csv"
    ucad.write(ucad.paper_problem("a", "16-3", seed=0, n_samples=600).train, path)
    return path


def moments(seed: int, longest: float) -> float:
    return float(np.random.default_rng(seed).random() ** 2 * longest)


@pytest.mark.parametrize("seed", cases(1, 12))
def test_a_killed_fit_leaves_the_old_run_and_can_be_done_again(tmp_path, table, run_folder, seed):
    folder, log = copied(run_folder, tmp_path / "run"), tmp_path / "log"
    before = contents(folder)
    solver = ["search", "gradient", "auto"][seed % 3]
    words = ["fit", table, "--factors", 3, "--solver", solver, *KINDS, "--force", "-o", folder]
    code = kill_after(start(words, log=log), moments(seed, 6))
    if code == -signal.SIGKILL and contents(folder) != before:
        assert load_run(folder).data["path"] == "table.csv", "neither the old nor the new run"
    assert "Traceback" not in log.read_text()
    if seed % 4 == 0:
        code, whole = finish(words, log=log), tmp_path / "whole"
        assert code == code_of(folder), log.read_text()
        assert finish([*words[:-2], "-o", whole], log=log) == code
        assert same_model(folder, whole)
    assert (
        not [p.name for p in tmp_path.iterdir() if p.name.endswith((".part", ".old"))] or seed % 4
    )


@pytest.mark.parametrize("seed", cases(1, 6))
def test_a_fit_that_is_asked_to_end_keeps_the_best_model(tmp_path, table, seed):
    folder, log = tmp_path / "run", tmp_path / "log"
    words = ["fit", table, "--factors", 3, "--solver", "gradient", "--quiet", "-o", folder]
    code = kill_after(start(words, log=log), 0.5 + moments(seed, 4), signal.SIGTERM)
    assert code in (0, 1, 130), log.read_text()
    assert "Traceback" not in log.read_text()
    assert folder.exists() == (code in (0, 1))
    if code == 1:
        assert load_run(folder).scm is not None


@pytest.mark.parametrize("seed", cases(2, 10))
def test_a_killed_sweep_keeps_its_rows_and_ends_with_all_of_them(tmp_path, monkeypatch, seed):
    (tmp_path / "tasks_to_kill.py").write_text(TASKS)
    (tmp_path / "grid.toml").write_text(
        f'function = "tasks_to_kill:double"\n[[grid]]\nx = {list(range(12))}\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    rows, log = tmp_path / "rows.jsonl", tmp_path / "log"
    words = ["sweep", tmp_path / "grid.toml", "-o", rows, "--workers", 1, "--allow-code", "--quiet"]
    process = start(words, log=log)
    kill_after(process, 0.3 + moments(seed, 2.5))
    kept = read_rows(rows)
    assert finish(words, log=log) == 0, log.read_text()
    after = read_rows(rows)
    assert {key: after[key] for key in kept} == kept
    assert sorted(row["result"]["twice"] for row in after.values()) == list(range(0, 24, 2))
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize("seed", cases(1, 6))
def test_a_killed_recording_goes_on_and_ends_as_if_never_stopped(tmp_path, seed):
    (tmp_path / "model.py").write_text(MODEL)
    np.save(tmp_path / "inputs.npy", np.random.default_rng(0).normal(size=(40, 3)).astype("f4"))
    log = tmp_path / "log"

    def words(name):
        record = ["record", f"{tmp_path / 'model.py'}:net", "--inputs", tmp_path / "inputs.npy"]
        sizes = ["--per-clamp", 12, "--batch-size", 8, "--seed", 1, "--quiet"]
        return [*record, "--sites", "2", "4", *sizes, "-o", tmp_path / name]

    assert finish(words("whole"), log=log) == 0, log.read_text()
    for again in range(3):
        kill_after(start(words("killed"), log=log), moments(seed * 3 + again, 0.8))
    assert finish(words("killed"), log=log) == 0, log.read_text()
    whole, killed = contents(tmp_path / "whole"), contents(tmp_path / "killed")
    assert whole == killed


@pytest.mark.parametrize("seed", cases(1, 8))
def test_a_killed_report_leaves_the_old_page_or_the_new(tmp_path, run_folder, seed):
    folder, log = copied(run_folder, tmp_path / "run"), tmp_path / "log"
    before = contents(folder)
    kill_after(start(["report", folder], log=log), moments(seed, 1.5))
    page = (folder / "report.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert finish(["report", folder], log=log) == 0, log.read_text()
    after = contents(folder)
    assert before | {"report.html": b""} == after | {"report.html": b""}


def test_workers_end_with_their_parent(tmp_path, monkeypatch):
    (tmp_path / "tasks_to_outlive.py").write_text(
        "import os, time\ndef sleep(task):\n    open(task['at'], 'w').write(str(os.getpid()))\n"
        "    time.sleep(300)\n"
    )
    at = tmp_path / "pid"
    (tmp_path / "grid.toml").write_text(
        f'function = "tasks_to_outlive:sleep"\n[[grid]]\nat = "{at}"\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    words = [
        "sweep",
        tmp_path / "grid.toml",
        "-o",
        tmp_path / "rows",
        "--allow-code",
        "--workers",
        1,
    ]
    process = start(words, log=tmp_path / "log")
    wait_for(at)
    time.sleep(0.2)
    pid = int(at.read_text())
    kill_after(process, 0)
    for _ in range(200):
        if not is_running(pid):
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the worker outlived its parent")


@pytest.mark.parametrize(
    ("ending", "words", "codes"),
    [
        (">&-", ["certify"], {2}),
        *(pytest.param(e, ["predict", "X1=1"], codes, marks=FULL) for e, codes in ENDINGS.items()),
        pytest.param("> /dev/full", ["report"], {2}, marks=FULL),
    ],
)
def test_output_that_nobody_takes_changes_nothing(run_folder, tmp_path, ending, words, codes):
    folder = copied(run_folder, tmp_path / "run")
    command = shlex.join([sys.executable, "-m", "ucad", words[0], str(folder), *words[1:]])
    done = subprocess.run(
        ["bash", "-c", f"{command} {ending}; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
    )
    assert done.returncode in codes, done
    assert "Traceback" not in done.stderr + done.stdout
    assert len(done.stderr.splitlines()) <= 1, done.stderr
    assert load_run(folder).status.notes == ("whole",)


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def code_of(folder) -> int:
    """The exit code that belongs to the status of a run."""
    status = load_run(folder).status
    return 0 if status.converged and status.feasible else 1


def same_model(first, second) -> bool:
    """Whether two run folders hold the same model, to the last bit, and the same account."""
    names = ("model.json", "model.safetensors", "certificate.json")
    status = [json.loads((folder / "run.json").read_text())["status"] for folder in (first, second)]
    same = all((first / name).read_bytes() == (second / name).read_bytes() for name in names)
    return same and status[0] == status[1]
