"""The command line: one module a command; whatever goes wrong ends in one line."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from ucad import __version__
from ucad.cli.demo import demo
from ucad.cli.evaluate import evaluate
from ucad.cli.fit import fit
from ucad.cli.inspect import certify, predict, report
from ucad.cli.networks import record, steer
from ucad.cli.simulate import simulate
from ucad.cli.sweep import sweep
from ucad.errors import UcadError

__all__ = ["app", "main"]

OK, WRONG_USE, INTERRUPTED = 0, 2, 130

app = App(
    name="ucad",
    version=__version__,
    help=(
        "Find the small causal model inside a big one.\n\n"
        "Add --debug to any command to see where an error comes from."
    ),
    help_format="plaintext",
)
app.command(demo)
app.command(fit)
app.command(evaluate)
app.command(certify)
app.command(report)
app.command(predict)
app.command(simulate)
app.command(record)
app.command(steer)
app.command(sweep)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and exits: 0 done, 1 not converged, 2 wrong use, 130 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # Many small matrices: threads that wait for each other made the demo ten times slower.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    debug = "--debug" in words
    try:
        result = _run([w for w in words if w != "--debug"])
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        _fail("the output was closed before everything was written")
    except KeyboardInterrupt:
        print("ucad: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except (UcadError, CycloptsError, OSError) as error:
        if debug:
            raise
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            _drop_output()
        _fail(_one_line(error))
    sys.exit(result if isinstance(result, int) else OK)


def _run(words: list[str]) -> object:
    """What the command returns, or the code with which the parser ends the program for it."""
    try:
        return app(words, exit_on_error=False, print_error=False)
    except SystemExit as ended:
        return ended.code


def _drop_output() -> None:
    """Keeps the interpreter from failing again, at exit, over output that cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> None:
    print(f"ucad: {message}", file=sys.stderr)
    sys.exit(WRONG_USE)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and not isinstance(error, UcadError) and error.filename:
        return f"{error.strerror}: '{error.filename}'"
    return " ".join(str(error).split())
