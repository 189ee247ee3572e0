"""The command line: one module per command; whatever goes wrong ends in one line."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence

from ucad import __version__
from ucad.errors import UcadError
from ucad.interrupts import asked_again, deferred

__all__ = ["main"]

OK, NOT_IN_FULL, WRONG_USE, UNFORESEEN, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes: 2 is what shells and option parsers use for wrong use, and 130 is 128 + SIGINT."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and exits.

    0 done; 1 it ran, but did not converge, or not all of it was done; 2 wrong use, and nothing was
    written (or the output could not be shown: then all was done, and the line says so); 3 a fault
    in ucad; 130 interrupted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    # Many small matrices: threads that wait for each other made the demo ten times slower.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        with _ended_like_interrupted():
            code = _shown_code_of(words)
    except KeyboardInterrupt:  # before there was anything to run
        _say("interrupted")
        code = INTERRUPTED
    sys.exit(code)


def _shown_code_of(words: list[str]) -> int:
    """Runs one command and shows what it prints; what is imported on the way takes its time."""
    from ucad.cli.output import patient_output

    with patient_output() as output, _said_in_lines():
        code = _code_of(words)
        with deferred():  # all is done: a request to end has nothing to end any more
            output.flush()
        if output.failure is not None and code in (OK, NOT_IN_FULL):
            reason = getattr(output.failure, "strerror", None) or output.failure
            _say(f"the command is done, but its output could not be shown: {reason}")
            code = WRONG_USE
    return code


def _code_of(words: list[str]) -> int:
    """Runs one command; whatever goes wrong becomes a line and a code."""
    debug = "--debug" in words
    try:
        result = _run([word for word in words if word != "--debug"])
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except (UcadError, OSError, MemoryError) as error:
        if debug:
            raise
        _say(_one_line(error))
        return WRONG_USE
    except Exception as error:
        if debug:
            raise
        return _unforeseen(error, words)
    return result if isinstance(result, int) else OK


def _unforeseen(error: Exception, words: list[str]) -> int:
    """Says what is no message of ours, and returns the code for it."""
    from cyclopts import CycloptsError

    if isinstance(error, CycloptsError):
        _say(str(error))
        return WRONG_USE
    if isinstance(error, RuntimeError) and "allocate memory" in str(error):
        _say(_one_line(MemoryError()))
        return WRONG_USE
    if _comes_from_interrupt(error):
        _say("interrupted")
        return INTERRUPTED
    _say(
        f"a fault in ucad ended this command ({type(error).__name__}). Please report it with "
        f"{_log(words)}, which holds the details."
    )
    return UNFORESEEN


def _comes_from_interrupt(error: BaseException | None) -> bool:
    """Whether somebody's wish to end became another error on its way, as it does in an import."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _run(words: list[str]) -> object:
    """What the command returns, or the code with which the parser ends the program for it."""
    from ucad.cli.commands import app

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
        with asked_again():
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
    """Writes what is being handled to a new file, and returns its name in quotes."""
    import platform
    import tempfile
    import traceback

    about = f"ucad {__version__}, Python {platform.python_version()}\nucad {' '.join(words)}"
    text = f"{about}\n\n{traceback.format_exc()}".encode("utf-8", "replace")
    try:
        with tempfile.NamedTemporaryFile(prefix="ucad-fault-", suffix=".log", delete=False) as file:
            file.write(text)
    except OSError:  # such as a full disk
        return "what the same command says with --debug"
    return f"'{file.name}'"


def _one_line(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory for this. Use fewer samples or variables."
    if isinstance(error, OSError) and not isinstance(error, UcadError) and error.filename:
        return f"{error.strerror}: '{error.filename}'"
    return str(error)
