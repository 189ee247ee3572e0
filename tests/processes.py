"""Commands in processes of their own, forked from one that has imported everything already."""

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["ucad.cli", "ucad.estimator", "ucad.report", "ucad.simulate", "ucad.networks", "ucad.sweep"]
)

MAX_SECONDS = 900.0
"""That a command may take: it only guards against hanging, also where many others compute."""


class Done(NamedTuple):
    """How a command ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def run(
    *words, cwd: Path | None = None, within: float = MAX_SECONDS, file_size: int | None = None
) -> Done:
    """Runs a command to its end, in a process that need not import torch once more.

    Args:
        words: of the command.
        cwd: where it runs, if not here.
        within: seconds it may take.
        file_size: bytes above which no file may grow, as on a full disk.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("out", "err")]
        arguments = ([str(word) for word in words], files, os.fspath(cwd or Path.cwd()))
        process = _CONTEXT.Process(target=_apart, args=(*arguments, dict(os.environ), file_size))
        process.start()
        process.join(within)
        if process.exitcode is None:
            process.kill()
            raise AssertionError(f"{words} hangs: {Path(files[1]).read_text()}")
        return Done(process.exitcode, *(Path(file).read_text() for file in files))


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
    process.join(MAX_SECONDS)
    assert process.exitcode is not None, "it hangs"
    return process.exitcode


def finish(words, *, log: Path, within: float = MAX_SECONDS) -> int:
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
    process.join(MAX_SECONDS)
    assert process.exitcode is not None, "it does not end"
    return process.exitcode


def wait_for(path: Path, seconds: float = MAX_SECONDS) -> None:
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


def _apart(
    words: list[str],
    files: list[str],
    cwd: str,
    environment: dict[str, str],
    file_size: int | None,
) -> None:
    """What a shell does before a command: its place, its environment, where its output goes."""
    import resource

    from ucad.cli import main

    for descriptor, file in zip((1, 2), files, strict=True):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), descriptor)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    if file_size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    main(words)
