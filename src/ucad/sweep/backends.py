"""Where tasks run: the interface of a backend, and processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ucad.errors import InvalidInputError
from ucad.sweep.work import Reply, execute, reply_to

__all__ = ["Backend", "LocalProcesses", "Outcome", "ThisProcess"]

PATIENCE = 5.0
"""Seconds that a worker gets to end when it is told to, before it is killed."""

MAX_WORKERS = 1024
"""More processes than this do not help on any one machine."""


class Outcome(NamedTuple):
    """How a task ended; `reply` is None if its worker died."""

    ticket: int
    reply: Reply | None
    cause: str = ""


@runtime_checkable
class Backend(Protocol):
    """A place that runs up to `capacity` tasks at a time.

    Used as a context: leaving it ends everything that still runs.
    """

    @property
    def capacity(self) -> int:
        """How many tasks run at a time."""
        ...

    def __enter__(self) -> Backend: ...

    def __exit__(self, *_error: object) -> None: ...

    def start(self, ticket: int, function: str, task: Mapping[str, Any]) -> None:
        """Starts a task under a number of the caller's choice."""
        ...

    def finished(self, timeout: float | None) -> list[Outcome]:
        """Waits until a task ends or the time is over; returns those that ended."""
        ...

    def cancel(self, ticket: int) -> None:
        """Ends a task that is running; it does not count as finished any more."""
        ...


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    ticket: int | None = None


class ThisProcess:
    """One task after the other, here: no process to start, and no script to guard against it."""

    capacity = 1

    def __init__(self) -> None:
        self._waiting: tuple[int, str, Mapping[str, Any]] | None = None

    def __enter__(self) -> ThisProcess:
        return self

    def __exit__(self, *_error: object) -> None:
        self._waiting = None

    def start(self, ticket: int, function: str, task: Mapping[str, Any]) -> None:
        """Takes a task, which is done when its result is asked for."""
        self._waiting = (ticket, function, task)

    def finished(self, timeout: float | None) -> list[Outcome]:  # noqa: ARG002 - a task is done whole
        """Does the task."""
        if self._waiting is None:
            return []
        (ticket, function, task), self._waiting = self._waiting, None
        return [Outcome(ticket, reply_to(function, task))]

    def cancel(self, ticket: int) -> None:
        """Drops a task that was not begun."""
        if self._waiting is not None and self._waiting[0] == ticket:
            self._waiting = None


class LocalProcesses:
    """Processes of one thread each, with a pipe of its own to every one of them.

    A pool shares its queues, so one killed worker breaks it for all; here the others go on, and a
    new process takes the place of the dead one.
    """

    def __init__(self, n_workers: int | None = None) -> None:
        self.capacity = (os.cpu_count() or 1) if n_workers is None else n_workers
        if not 1 <= self.capacity <= MAX_WORKERS:
            raise InvalidInputError(
                f"'n_workers' must be from 1 to {MAX_WORKERS}. Got {n_workers} instead."
            )
        self._workers: list[_Worker] = []

    def __enter__(self) -> LocalProcesses:
        return self

    def __exit__(self, *_error: object) -> None:
        for worker in self._workers:
            worker.pipe.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(PATIENCE)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that are working on a task."""
        return tuple(w.process.pid or 0 for w in self._workers if w.ticket is not None)

    def start(self, ticket: int, function: str, task: Mapping[str, Any]) -> None:
        """Hands a task to an idle process, or to a new one."""
        for worker in [w for w in self._workers if w.ticket is None]:
            try:
                worker.pipe.send((function, dict(task)))
            except OSError:  # it was killed while it had nothing to do
                self._bury(worker)
                continue
            worker.ticket = ticket
            return
        worker = _new_worker()
        self._workers.append(worker)
        worker.ticket = ticket
        try:
            worker.pipe.send((function, dict(task)))
        except OSError:
            return  # dead at birth; `finished` finds its pipe closed

    def finished(self, timeout: float | None) -> list[Outcome]:
        """Waits for a reply, or for the end of a process."""
        busy = {w.pipe: w for w in self._workers if w.ticket is not None}
        return [self._collect(busy[pipe]) for pipe in wait(list(busy), timeout) if pipe in busy]

    def cancel(self, ticket: int) -> None:
        """Kills the process that works on a task."""
        for worker in [w for w in self._workers if w.ticket == ticket]:
            worker.process.kill()
            self._bury(worker)

    def _collect(self, worker: _Worker) -> Outcome:
        ticket, worker.ticket = worker.ticket, None
        assert ticket is not None
        try:
            return Outcome(ticket, worker.pipe.recv())
        except (EOFError, OSError):
            return Outcome(ticket, None, self._bury(worker))

    def _bury(self, worker: _Worker) -> str:
        self._workers.remove(worker)
        worker.pipe.close()
        worker.process.join(PATIENCE)
        worker.process.kill()
        worker.process.join()
        return f"exit code {worker.process.exitcode}"


def _new_worker() -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    # It inherits what is blocked: Ctrl-C, which reaches every process of a terminal, is the
    # parent's affair from the start.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    theirs.close()
    return _Worker(process, ours)


def _serve(pipe: Connection) -> None:
    """The life of a worker: tasks in, replies out, until the pipe closes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            function, task = pipe.recv()
            pipe.send(execute(function, task))
        except (EOFError, OSError):
            return


def _end_with_parent() -> None:
    """Ends this process when its parent is gone: nobody would take the result."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
