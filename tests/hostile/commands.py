"""Commands run inside the test process, and what must be true of every one of them."""

import contextlib
import io
import json
import math
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from ucad.cli import main

CODES = (0, 1, 2)
INTERRUPTED = 130
PROGRESS = ("search:", "training:", "sweep:", "Recording,")
LOG = re.compile(r"'(\S+ucad-fault-\S+\.log)'")


class Said(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


def cases(quick: int, full: int):
    """Numbers of cases: the first ones for `make test`, all of them for `make test-hostile`."""
    return [*range(quick), *map(only_full, range(quick, full))]


def only_full(value):
    """A case for `make test-hostile` alone."""
    return pytest.param(value, marks=pytest.mark.hostile_full)


def run(*words) -> Said:
    """Runs a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(word) for word in words])
        except SystemExit as ended:
            return Said(ended.code, out.getvalue(), err.getvalue())
    raise AssertionError("a command must end by exiting")


def run_soundly(*words) -> Said:
    """Runs a command and checks what must be true of every command.

    Raises:
        KeyboardInterrupt: the command took a request to end the tests for its own.
    """
    said = run(*words)
    if said.code == INTERRUPTED:
        raise KeyboardInterrupt(f"{words}: {said}")
    check_sound(said, words)
    return said


def check_sound(said: Said, words=()) -> None:
    """No fault, no traceback, no number that is not finite, every line ours."""
    fault = LOG.search(said.err)
    details = Path(fault.group(1)).read_text() if fault else ""
    if fault:
        Path(fault.group(1)).unlink()
    assert said.code in CODES, f"{words}: {said}\n{details}"
    assert "Traceback" not in said.out + said.err, f"{words}: {said}"
    for line in said.err.splitlines():
        assert line.startswith(("ucad: ", *PROGRESS)), f"{words}: {line}"
    if said.code == 2:
        assert said.err.strip(), f"{words} failed without a word"
    assert not re.search(r"(?<![\w.])[-−]?(nan|inf|Infinity)(?![\w.])", said.out), said.out
    if "--json" in words and said.code == 0:
        check_finite(json.loads(said.out))


def check_finite(value) -> None:
    """Every number in a JSON value is finite."""
    if isinstance(value, float):
        assert math.isfinite(value)
    for inner in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        check_finite(inner)


def contents(folder: Path) -> dict[str, bytes | str]:
    """Everything in a folder, by path, to be compared."""
    found = {}
    for entry in sorted(folder.rglob("*")):
        name = str(entry.relative_to(folder))
        if entry.is_symlink():
            found[name] = f"link to {entry.readlink()}"
        elif entry.is_file():
            found[name] = entry.read_bytes()
        else:
            found[name] = "folder" if entry.is_dir() else "other"
    return found


def copied(source: Path, target: Path) -> Path:
    """A copy of a folder, to be spoilt."""
    shutil.copytree(source, target)
    return target
