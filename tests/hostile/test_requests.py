"""Commands that are asked to end, or killed, at any call of a function lose nothing."""

import json
import signal

import numpy as np
import pytest

import ucad
from tests.hostile.commands import INTERRUPTED, cases, check_sound, contents, copied, only_full, run
from tests.hostile.interruptions import command_and_stop, signal_at
from tests.processes import call
from ucad.runs import load_run

LINEAR = ["--factor-mechanism", "linear", "--variable-mechanism", "linear", "--quiet"]
FIT = ["fit", "t.csv", "--factors", "1", *LINEAR]
RECORD = ["record", "model.py:net", "--inputs", "inputs.npy", "--sites", "1", "3", "--quiet"]
COMMANDS = {
    "certify": ["certify", "run"],
    "compare": ["compare", "run", "run", "--json"],
    "export csv": ["export", "run", "--to", "csv", "-o", "old.csv", "--force"],
    "export dowhy": ["export", "run", "--to", "dowhy", "-o", "new"],
    "export graphml": ["export", "run", "--to", "graphml", "-o", "new"],
    "factors": ["factors", "t.csv", "--to", "1", "--quiet", "-o", "new.json"],
    "fit": [*FIT, "--solver", "search", "-o", "new"],
    "fit again": [*FIT, "--solver", "search", "-o", "run", "--force"],
    "fit auto": ["fit", "t.csv", *LINEAR, "-o", "new"],
    "fit runs": [*FIT, "--solver", "search", "--runs", "4", "--jobs", "1", "-o", "new"],
    "info": ["info", "t.csv"],
    "predict": ["predict", "run", "X1=1", "--json"],
    "record": [*RECORD, "--per-clamp", "10", "-o", "new"],
    "report": ["report", "run"],
    "simulate": ["simulate", "b", "16-3", "--samples", "40", "-o", "new"],
}
QUICK = ("certify", "export csv", "fit", "predict")
"""What `make test` tries, once each."""
KEPT = {"fit auto": ["new.checkpoint"], "fit runs": ["new.checkpoint.fits"], "record": ["new"]}
"""What a command that was interrupted leaves, for the same command to go on from."""


@pytest.fixture(scope="session")
def place(tmp_path_factory, run_folder):
    """A folder with all that the commands need, and what they have made of it before."""
    folder = tmp_path_factory.mktemp("requests") / "place"
    folder.mkdir()
    copied(run_folder, folder / "run")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 4))
    x[:, 2:] += x[:, :1] + x[:, 1:2]
    ucad.write(ucad.InterventionalData.from_arrays(x), folder / "t.csv")
    (folder / "old.csv").write_text("old")
    (folder / "model.py").write_text(
        "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
        "net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2), nn.Tanh())\n"
    )
    np.save(folder / "inputs.npy", rng.normal(size=(30, 3)).astype("f4"))
    return folder


@pytest.fixture(scope="session")
def n_calls(place, tmp_path_factory):
    """How many functions of ucad a command calls, by its name; counted once."""
    known = {}

    def count(name):
        if name not in known:
            folder = copied(place, tmp_path_factory.mktemp("counted") / "place")
            with pytest.MonkeyPatch.context() as patch, signal_at(0, signal.SIGTERM) as calls:
                patch.chdir(folder)
                said = run(*COMMANDS[name])
            check_sound(said)
            known[name] = calls[0], said.code, contents(folder)
        return known[name]

    return count


@pytest.mark.parametrize("seed", cases(1, 12))
@pytest.mark.parametrize("name", [n if n in QUICK else only_full(n) for n in COMMANDS])
def test_a_command_that_is_asked_to_end_keeps_what_was_there(
    tmp_path, monkeypatch, place, n_calls, name, seed
):
    rng = np.random.default_rng([seed, *name.encode()])
    total, whole_code, whole = n_calls(name)
    folder = copied(place, tmp_path / "place")
    monkeypatch.chdir(folder)
    before = contents(folder)
    with signal_at(int(rng.integers(1, total + 1)), rng.choice([signal.SIGTERM, signal.SIGINT])):
        said = run(*COMMANDS[name])
    if said.code == INTERRUPTED:
        assert said.err.splitlines()[-1] == "ucad: interrupted"
        check_same(before, contents(folder), allowed=KEPT.get(name, ()))
    else:
        check_sound(said)
        assert said.code in (whole_code, 1), said
        assert not [entry for entry in contents(folder) if entry.endswith((".part", ".old"))]
        check_kept(name, before, folder)
    said = run(*COMMANDS[name], *forced(name, folder))
    assert said.code == whole_code, said
    check_same(whole, contents(folder), but_when=True)


@pytest.mark.parametrize("seed", cases(0, 4))
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_killed_keeps_what_was_there(tmp_path, place, n_calls, name, seed):
    rng = np.random.default_rng([seed, *name.encode()])
    total, whole_code, whole = n_calls(name)
    folder = copied(place, tmp_path / "place")
    before = contents(folder)
    at = int(rng.integers(1, total + 1))
    code = call(command_and_stop, str(folder), COMMANDS[name], at, signal.SIGKILL)
    assert code in (whole_code, -signal.SIGKILL)
    check_kept(name, before, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        said = run(*COMMANDS[name], *forced(name, folder))
    assert said.code == whole_code, said
    check_same(whole, contents(folder), but_when=True)


def forced(name, folder) -> list[str]:
    """What a command needs that has already written something, unless it goes on from there."""
    done = [path for path in ("new", "new.json") if (folder / path).exists()]
    return ["--force"] if done and name != "record" else []


def check_same(first, second, *, allowed=(), but_when=False) -> None:
    """Two folders hold the same, but for what may be left and for when and how fast it was made."""
    parts = {name for name in second if name.startswith(".") or "/." in name}
    assert not parts, "something half written is left"
    names = {n for n in {*first, *second} if n.partition("/")[0] not in allowed}
    for name in sorted(names):
        ours, theirs = first.get(name), second.get(name)
        assert ours is not None, f"{name} is new"
        assert theirs is not None, f"{name} is gone"
        if but_when and name.endswith((".json", ".html")):
            ours, theirs = timeless(name, ours), timeless(name, theirs)
        assert ours == theirs, name


def timeless(name, content):
    """A file of a run without when it was made and how long that took; None for whole pages."""
    if not name.endswith(".json") or name.endswith("recording.json"):
        return None if name.endswith(".html") else content
    return without_times(json.loads(content))


def without_times(value):
    """A JSON value without seconds and dates."""
    if isinstance(value, list):
        return [without_times(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    kept = {key for key in value if key != "created" and "second" not in key}
    return {key: without_times(value[key]) for key in kept}


def check_kept(name, before, folder) -> None:
    """What a command has not been asked to replace is as it was; what it has written is whole."""
    after = contents(folder)
    output = COMMANDS[name][COMMANDS[name].index("-o") + 1] if name.startswith("fit") else ""
    if output and (folder / output).exists():
        load_run(folder / output)
    replaced = ("run/",) if name in ("fit again", "report") else ("old.csv",)
    for entry, content in before.items():
        assert entry.startswith(replaced) or after.get(entry) == content, entry
