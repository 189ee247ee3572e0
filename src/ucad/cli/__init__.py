"""The command line: one module a command; whatever goes wrong ends in one line."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence

from cyclopts import App, CycloptsError, Parameter

from ucad import __version__
from ucad.cli.compare import compare
from ucad.cli.completion import completion
from ucad.cli.demo import demo
from ucad.cli.evaluate import evaluate
from ucad.cli.export import export
from ucad.cli.factors import factors
from ucad.cli.fit import fit
from ucad.cli.info import info
from ucad.cli.inspect import certify, report
from ucad.cli.networks import record
from ucad.cli.output import patient_output
from ucad.cli.predict import predict
from ucad.cli.simulate import simulate
from ucad.cli.steer import steer
from ucad.cli.supernodes import supernodes
from ucad.cli.sweep import sweep
from ucad.errors import UcadError

__all__ = ["app", "main"]

OK, NOT_IN_FULL, WRONG_USE, UNFORESEEN, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes: 2 is what shells and option parsers use for wrong use, and 130 is 128 + SIGINT."""


def _shown_default(value: object) -> str | None:
    """A default in the help, unless it says nothing: a flag not given, an empty list or text.

    >>> _shown_default(False), _shown_default(()), _shown_default(0)
    (None, None, '0')
    """
    return None if value is False or value in ("", (), None) else str(value)


app = App(
    name="ucad",
    version=__version__,
    help=(
        "Find the small causal model inside a big one.\n\n"
        "Add --debug to any command to see where an error comes from."
    ),
    help_format="markdown",
    default_parameter=Parameter(negative="", show_default=_shown_default),
    suppress_keyboard_interrupt=False,  # or else it ends without a word
)
app.command(demo)
app.command(info)
app.command(fit)
app.command(factors)
app.command(evaluate)
app.command(certify)
app.command(report)
app.command(compare)
app.command(predict)
app.command(export)
app.command(simulate)
app.command(record)
app.command(steer)
app.command(supernodes)
app.command(sweep)
app.command(completion)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and exits.

    0 done; 1 it ran, but did not converge, or not all of it was done; 2 wrong use, and nothing was
    written (or the output could not be shown: then all was done, and the line says so); 3 a fault
    in ucad; 130 interrupted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    # Many small matrices: threads that wait for each other made the demo ten times slower.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with patient_output() as output, _said_in_lines(), _ended_like_interrupted():
        code = _code_of(words)
        output.flush()
        if output.failure is not None and code in (OK, NOT_IN_FULL):
            reason = getattr(output.failure, "strerror", None) or output.failure
            _say(f"the command is done, but its output could not be shown: {reason}")
            code = WRONG_USE
    sys.exit(code)


def _code_of(words: list[str]) -> int:
    """Runs one command; whatever goes wrong becomes a line and a code."""
    debug = "--debug" in words
    try:
        result = _run([word for word in words if word != "--debug"])
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except (UcadError, CycloptsError, OSError, MemoryError) as error:
        if debug:
            raise
        _say(_one_line(error))
        return WRONG_USE
    except Exception as error:
        if debug:
            raise
        if isinstance(error, RuntimeError) and "allocate memory" in str(error):
            _say(_one_line(MemoryError()))
            return WRONG_USE
        _say(
            f"a fault in ucad ended this command ({type(error).__name__}). Please report it with "
            f"'{_log(words)}', which holds the details."
        )
        return UNFORESEEN
    return result if isinstance(result, int) else OK


def _run(words: list[str]) -> object:
    """What the command returns, or the code with which the parser ends the program for it."""
    try:
        return app(words, exit_on_error=False, print_error=False)
    except SystemExit as ended:
        return ended.code


@contextlib.contextmanager
def _ended_like_interrupted() -> Iterator[None]:
    """Treats a request to end (SIGTERM) like Ctrl-C: what was found so far is kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _said_in_lines() -> Iterator[None]:
    """Shows what the library logs or warns of in one line each, on standard error."""
    handler = _Lines(logging.WARNING)
    logger = logging.getLogger("ucad")
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_rest, **_more: _say(str(message))
            yield
    finally:
        logger.removeHandler(handler)


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _say(record.getMessage())


def _say(message: str) -> None:
    print(f"ucad: {' '.join(message.split())}", file=sys.stderr)


def _log(words: list[str]) -> str:
    """Writes what is being handled to a new file, and returns its name."""
    import platform
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile(
        "w", prefix="ucad-fault-", suffix=".log", delete=False, encoding="utf-8", errors="replace"
    ) as file:
        file.write(f"ucad {__version__}, Python {platform.python_version()}\n")
        file.write(f"ucad {' '.join(words)}\n\n{traceback.format_exc()}")
    return file.name


def _one_line(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory for this. Use fewer samples or variables."
    if isinstance(error, OSError) and not isinstance(error, UcadError) and error.filename:
        return f"{error.strerror}: '{error.filename}'"
    return str(error)
