"""A module of functions that workers can import."""

import sys

import pytest

from tests.sweep.tasks import MODULE

FUNCTIONS = '''
import os
import signal
import time
from pathlib import Path


def double(task):
    if task["x"] == task.get("bad"):
        raise ValueError("x is bad")
    return {"y": 2 * task["x"], "about": {"pid": os.getpid()}}


def die(task):
    """Kills its own process the first `times` times."""
    marks = Path(task["folder"])
    if task["x"] == 1 and len(list(marks.iterdir())) < task["times"]:
        (marks / str(os.getpid())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"y": 2 * task["x"]}


def slow(task):
    Path(task["folder"], str(os.getpid())).touch()
    time.sleep(task["seconds"])
    return {"x": task["x"]}


def interrupt(task):
    if task["x"] == 2:
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(60)
    return {"x": task["x"]}


def not_a_number(task):
    return {"y": float("nan")}
'''


@pytest.fixture
def functions(tmp_path, monkeypatch):
    """A module that workers can import."""
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / f"{MODULE}.py").write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(str(folder))
    yield MODULE
    sys.modules.pop(MODULE, None)
