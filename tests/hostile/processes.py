"""Commands in processes of their own, forked from one that has imported everything already."""

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["ucad.cli", "ucad.estimator", "ucad.report", "ucad.simulate", "ucad.networks", "ucad.sweep"]
)


def start(words, *, log: Path) -> BaseProcess:
    """Starts a command; what it says goes to a file."""
    log.touch()
    process = _CONTEXT.Process(target=_command, args=([str(word) for word in words], str(log)))
    process.start()
    return process


def call(function, *arguments) -> int:
    """Runs a function of a module in a process of its own and returns its exit code."""
    process = _CONTEXT.Process(target=function, args=arguments)
    process.start()
    process.join(60)
    assert process.exitcode is not None, "it hangs"
    return process.exitcode


def finish(words, *, log: Path, within: float = 120) -> int:
    """Runs a command to its end and returns its exit code."""
    process = start(words, log=log)
    process.join(within)
    assert process.exitcode is not None, f"{words} hangs: {log.read_text()}"
    return process.exitcode


def kill_after(process: BaseProcess, seconds: float, number: int = signal.SIGKILL) -> int:
    """Sends a signal after a while, unless it has ended before; returns the exit code."""
    process.join(seconds)
    if process.exitcode is None:
        os.kill(process.pid, number)
    process.join(120)
    assert process.exitcode is not None, "it does not end"
    return process.exitcode


def wait_for(path: Path, seconds: float = 60) -> None:
    """Waits until a file is there."""
    until = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < until, f"{path} does not appear"
        time.sleep(0.01)


def _command(words: list[str], log: str) -> None:
    from ucad.cli import main

    with (
        open(log, "a", encoding="utf-8") as file,
        contextlib.redirect_stdout(file),
        contextlib.redirect_stderr(file),
    ):
        try:
            main(words)
        except SystemExit as ended:
            sys.exit(ended.code)
