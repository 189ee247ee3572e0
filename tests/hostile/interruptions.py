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

    if not with_exchange:
        files._renameat2 = lambda: None
    lines = 0

    def count(frame, event, _argument):
        nonlocal lines
        code = frame.f_code
        if Path(code.co_filename).name not in FILES or code.co_name in ONLY_COMPUTE:
            return None
        if event == "line":
            lines += 1
            if lines == at:
                sys.settrace(None)
                if how == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                raise KeyboardInterrupt
        return count

    sys.settrace(count)
    try:
        save_run(run, folder, force=True)
    except KeyboardInterrupt:
        sys.settrace(None)
        sys.exit(130)
    sys.settrace(None)
    sys.exit(0)
