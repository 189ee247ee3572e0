"""Saving a run folder, stopped at any line of it; commands that are sent a signal at any call."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

ONLY_COMPUTE = ("_plain", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")
"""Nothing is written there, so that it is all the same where in them saving stops."""
OURS = os.sep + "ucad" + os.sep
FILES = ("files.py", "runs.py", "storage.py", "arrays.py")


def save_and_stop(run, folder: str, at: int, how: str, with_exchange: bool) -> None:
    """Replaces a run folder and is stopped at the n-th line of our own code of saving."""
    from ucad import files
    from ucad.runs import save_run

    exchange = files._renameat2
    files._renameat2 = exchange if with_exchange else _no_exchange
    tracer, lines = sys.gettrace(), 0

    def count(frame, event, _argument):
        nonlocal lines
        code = frame.f_code
        if Path(code.co_filename).name not in FILES or code.co_name in ONLY_COMPUTE:
            return None
        if event == "line":
            lines += 1
            if lines == at:
                sys.settrace(tracer)
                if how == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                raise KeyboardInterrupt
        return count

    sys.settrace(count)
    try:
        save_run(run, folder, force=True)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        sys.settrace(tracer)
        files._renameat2 = exchange
    sys.exit(0)


def _no_exchange() -> None:
    """What a system says that cannot swap two folders."""


@contextlib.contextmanager
def signal_at(at: int, number: int) -> Iterator[list[int]]:
    """Sends this process a signal at the n-th call of a function of ucad, wherever that is.

    Yields:
        A list whose only entry is the number of calls so far.
    """
    calls = [0]

    def count(frame, event, _argument):
        if event != "call" or OURS not in frame.f_code.co_filename:
            return
        calls[0] += 1
        if calls[0] == at:
            sys.setprofile(None)
            os.kill(os.getpid(), number)

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def command_and_stop(folder: str, words: list[str], at: int, number: int) -> None:
    """Runs a command in a folder, which is sent a signal at the n-th call of a function of ucad."""
    from ucad.cli import main

    os.chdir(folder)
    with (
        open(os.devnull, "w", encoding="utf-8") as nothing,
        contextlib.redirect_stdout(nothing),
        contextlib.redirect_stderr(nothing),
        signal_at(at, number),
    ):
        main(words)
