"""Saving a run folder, stopped at any line of it."""

import os
import signal
import sys
from pathlib import Path

ONLY_COMPUTE = ("_plain", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")
"""Nothing is written there, so that it is all the same where in them saving stops."""
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
