"""Progress of long commands: a bar on a terminal, plain lines elsewhere, nothing if quiet."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

from ucad._types import Progress, ProgressEvent

__all__ = ["shown_progress"]

_SECONDS_BETWEEN_LINES = 5.0
"""How often a log gets a line, in seconds: a minute is a dozen lines, an hour some hundreds."""


@contextlib.contextmanager
def shown_progress(*, quiet: bool = False) -> Iterator[Progress]:
    """Yields the callback that shows progress, on standard error."""
    if quiet:
        yield lambda _event: None
    elif sys.stderr.isatty():
        with _bars() as show:
            yield show
    else:
        yield _lines()


def _lines() -> Progress:
    shown_at: dict[str, float] = {}
    begun_at: dict[str, tuple[float, int]] = {}

    def show(event: ProgressEvent) -> None:
        now = time.monotonic()
        begun_at.setdefault(event.stage, (now, event.done))
        if now - shown_at.get(event.stage, -_SECONDS_BETWEEN_LINES) < _SECONDS_BETWEEN_LINES:
            return
        shown_at[event.stage] = now
        total = "" if event.total is None else f"/{event.total}"
        tail = f"  {event.message}" if event.message else ""
        left = _left(event, *begun_at[event.stage], now)
        print(f"{event.stage}: {event.done}{total}{tail}{left}", file=sys.stderr, flush=True)

    return show


def _left(event: ProgressEvent, begun: float, done_then: int, now: float) -> str:
    """How long the rest takes, in words: as the event says, or else at the pace so far.

    >>> _left(ProgressEvent("fits", 30, 120), 0.0, 0, 60.0)
    ', about 3 min left'
    """
    if event.seconds_left is not None:
        return f", about {_duration(event.seconds_left)} left"
    if event.total is None or event.done <= done_then or event.done >= event.total:
        return ""
    seconds = (event.total - event.done) * (now - begun) / (event.done - done_then)
    return f", about {_duration(seconds)} left"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextlib.contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[message]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, object] = {}

        def show(event: ProgressEvent) -> None:
            if event.stage not in tasks:
                for task in bars.tasks:
                    bars.update(task.id, completed=task.total or 1, total=task.total or 1)
                tasks[event.stage] = bars.add_task(event.stage, total=event.total, message="")
            task_id = next(t.id for t in bars.tasks if t.description == event.stage)
            bars.update(task_id, completed=event.done, total=event.total, message=event.message)

        yield show
