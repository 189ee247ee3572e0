"""Requests to end, by Ctrl-C or SIGTERM, that wait until what was found is safe."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

__all__ = ["Request", "asked_again", "deferred"]

SECONDS = 0.05
"""After which a request that Python dropped comes again: by then, what it cleared up is gone."""


class Request:
    """Whether somebody has asked to end.

    Attributes:
        came: whether anybody has.
    """

    def __init__(self) -> None:
        self.came = False

    def answer(self) -> None:
        """Ends what goes on now, if that was asked for meanwhile.

        Raises:
            KeyboardInterrupt: somebody has asked to end.
        """
        if self.came:
            raise KeyboardInterrupt

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.answer()  # a second request is not kept waiting
        self.came = True


@contextlib.contextmanager
def deferred() -> Iterator[Request]:
    """Lets the first request to end wait until the block is done; a second one ends it at once.

    Only signals that would raise `KeyboardInterrupt` are held back, and only in the main thread,
    where Python handles them.

    >>> _ = signal.signal(signal.SIGINT, signal.default_int_handler)  # as Python starts
    >>> with deferred() as request:
    ...     signal.raise_signal(signal.SIGINT)
    >>> request.came
    True
    """
    request, held = Request(), []
    if threading.current_thread() is threading.main_thread():
        numbers = (signal.SIGINT, signal.SIGTERM)
        held = [n for n in numbers if signal.getsignal(n) is signal.default_int_handler]
    try:
        for number in held:
            signal.signal(number, request._note)
        yield request
    finally:
        for number in held:
            signal.signal(number, signal.default_int_handler)


@contextlib.contextmanager
def asked_again() -> Iterator[None]:
    """Lets a request to end come again that Python dropped, since it was clearing something up.

    An exception in a finaliser is shown, with its traceback, and forgotten. SIGTERM must be one of
    the signals that raise `KeyboardInterrupt`.
    """
    before, timers = sys.unraisablehook, list[threading.Timer]()

    def hook(dropped: Any) -> None:  # its class is there for type checkers alone
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
            return
        timers.append(threading.Timer(SECONDS, os.kill, (os.getpid(), signal.SIGTERM)))
        timers[-1].start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
        for timer in timers:
            timer.cancel()
            timer.join()
