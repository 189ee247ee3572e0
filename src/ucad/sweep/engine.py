"""`run_sweep`: starts what is missing, keeps what is finished, and survives what goes wrong."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ucad import __version__
from ucad._types import Progress, ProgressEvent
from ucad.sweep.backends import Backend, Outcome
from ucad.sweep.costs import Budget, Costs
from ucad.sweep.grid import Grid
from ucad.sweep.table import ResultTable, Row, Task, row_key
from ucad.sweep.work import Reply

__all__ = ["SweepReport", "run_sweep"]

MOST_ATTEMPTS = 2
"""How often a task is tried whose worker dies: once might have been bad luck."""
DIED = "The worker died twice on this task: killed from outside, or out of memory."
SECONDS_BETWEEN_LOOKS = 60.0
"""After how long progress is told even if no task ends."""


@dataclass(frozen=True)
class SweepReport:
    """What a sweep came to.

    Attributes:
        rows: those of the tasks asked for, in the order of their keys.
        left_out: tasks without a row: the budget was spent, or somebody interrupted.
        n_new: rows made in this run; the others were there before.
        interrupted: whether somebody pressed Ctrl-C.
    """

    rows: tuple[Row, ...]
    left_out: tuple[Task, ...]
    n_new: int
    interrupted: bool = False

    @property
    def failed(self) -> tuple[Row, ...]:
        """The rows that hold an error."""
        return tuple(row for row in self.rows if row["error"] is not None)


def run_sweep(  # noqa: PLR0913 - the front door: every option by its own name
    grid: Grid,
    table: Path,
    backend: Backend,
    *,
    costs: Costs | None = None,
    budget: Budget | None = None,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> SweepReport:
    """Does every task of the grid that has no row yet, and appends its row as it finishes.

    A task that raises becomes a row with its error. A task whose worker dies is tried once more,
    then becomes such a row too. Tasks are started in the order of the grid; with a budget, those
    that would not be finished in time are passed over. Results do not depend on the backend.

    Args:
        grid: what to do.
        table: the JSON-lines file; rows of other grids in it are left alone.
        backend: where to do it.
        costs: what tasks take, for the budget and the time left.
        budget: how long the sweep may take.
        max_seconds: how long one task may take; one that takes longer becomes a row with an error.
        progress: told how many are done and how long the rest will take.
    """
    with ResultTable(table).opened() as results:
        limits = _Limits(budget, math.inf if max_seconds is None else max_seconds)
        run = _Run(grid, results, backend, costs or Costs(), limits, progress)
        interrupted = False
        if run.waiting:
            try:
                with backend:
                    run.go()
            except KeyboardInterrupt:
                interrupted = True
    keys = sorted({row_key(grid.function, task) for task in grid.tasks})
    return SweepReport(
        tuple(results.rows[key] for key in keys if key in results.rows),
        tuple(t for t in grid.tasks if row_key(grid.function, t) not in results.rows),
        run.n_new,
        interrupted,
    )


class _Limits(NamedTuple):
    """How long the sweep and each of its tasks may take."""

    budget: Budget | None
    max_seconds: float


class _Run:
    """The state of a sweep while it runs."""

    def __init__(
        self,
        grid: Grid,
        results: ResultTable,
        backend: Backend,
        costs: Costs,
        limits: _Limits,
        progress: Progress | None,
    ) -> None:
        self.function, self.results, self.backend = grid.function, results, backend
        self.costs, self.progress = costs, progress
        self.budget, self.max_seconds = limits
        self.waiting = self._missing(grid.tasks)
        self.running: dict[int, tuple[Task, float]] = {}
        self.attempts: dict[str, int] = {}
        self.n_new = self.n_failed = self.next_ticket = 0
        self.total = len(self.waiting)

    def go(self) -> None:
        """Keeps the backend busy until nothing is left that may be started."""
        while True:
            self._fill()
            self._tell()
            if not self.running or (self.budget is not None and self.budget.left <= 0):
                return
            for outcome in self.backend.finished(self._patience()):
                self._take(outcome)
            self._end_overdue()

    def _patience(self) -> float:
        """Seconds until something must be looked at even if no task ends."""
        first = min((started for _, started in self.running.values()), default=0.0)
        left = [SECONDS_BETWEEN_LOOKS, first + self.max_seconds - time.monotonic()]
        if self.budget is not None:
            left.append(self.budget.left)
        return max(0.0, min(left))

    def _end_overdue(self) -> None:
        """Ends the tasks that have taken too long; each becomes a row with an error."""
        now = time.monotonic()
        for ticket, (task, started) in list(self.running.items()):
            if now - started > self.max_seconds:
                self.backend.cancel(ticket)
                del self.running[ticket]
                error = f"The task took more than {self.max_seconds:g} s and was ended."
                self._keep(task, Reply(None, error, {"seconds": now - started}), attempt=1)

    def _missing(self, tasks: Sequence[Task]) -> list[Task]:
        """The tasks without a row, each once; what was measured before teaches the costs."""
        missing: dict[str, Task] = {}
        for task in tasks:
            key = row_key(self.function, task)
            row = self.results.rows.get(key)
            if row is None:
                missing[key] = task
            elif row["error"] is None:
                seconds = row["about"].get("seconds")
                if isinstance(seconds, int | float):
                    self.costs.observe(task, seconds)
        return list(missing.values())

    def _fill(self) -> None:
        while len(self.running) < self.backend.capacity:
            task = next((task for task in self.waiting if self._fits(task)), None)
            if task is None:
                return
            self.waiting.remove(task)
            self.next_ticket += 1
            self.running[self.next_ticket] = (task, time.monotonic())
            self.backend.start(self.next_ticket, self.function, task)

    def _fits(self, task: Task) -> bool:
        return self.budget is None or self.costs.estimate(task) < self.budget.left

    def _take(self, outcome: Outcome) -> None:
        task, _ = self.running.pop(outcome.ticket)
        key = row_key(self.function, task)
        attempt = self.attempts[key] = self.attempts.get(key, 0) + 1
        reply = outcome.reply
        if reply is None:
            if attempt < MOST_ATTEMPTS:
                self.waiting.insert(0, task)
                return
            reply = Reply(None, DIED, {"seconds": 0.0, "cause": outcome.cause})
        elif reply.error is None:
            self.costs.observe(task, float(reply.about["seconds"]))
        self._keep(task, reply, attempt)

    def _keep(self, task: Task, reply: Reply, attempt: int) -> None:
        self.results.append(_row(self.function, task, reply, attempt))
        self.n_new += 1
        self.n_failed += reply.error is not None

    def _tell(self) -> None:
        if self.progress is None:
            return
        message = f"{self.n_failed} failed" if self.n_failed else ""
        left = self._seconds_left()
        self.progress(ProgressEvent("sweep", self.n_new, self.total, message, left))

    def _seconds_left(self) -> float:
        now = time.monotonic()
        rest = sum(self.costs.estimate(task) for task in self.waiting)
        rest += sum(
            max(0.0, self.costs.estimate(task) - (now - started))
            for task, started in self.running.values()
        )
        left = rest / self.backend.capacity
        return left if self.budget is None else min(left, max(0.0, self.budget.left))


def _row(function: str, task: Task, reply: Reply, attempts: int) -> Row:
    about: Mapping[str, Any] = {
        **reply.about,
        "attempts": attempts,
        "ucad": __version__,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return {
        "function": function,
        "task": dict(task),
        "result": reply.result,
        "error": reply.error,
        "about": dict(about),
    }
