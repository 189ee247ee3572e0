"""How long fits take: guessed before, learned on the way, and held against a budget."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from ucad.sweep.table import Task, row_key

__all__ = ["Budget", "Costs"]


def _same(_task: Task) -> float:
    return 1.0


@dataclass
class Costs:
    """Estimates of seconds per task.

    The mean of finished tasks that differ in their seed alone; else the guess times what finished
    tasks took over what had been guessed for them.

    >>> costs = Costs(guess=lambda task: task["n"] / 10)
    >>> costs.observe({"n": 20, "seed": 0}, 4.0)
    >>> costs.estimate({"n": 20, "seed": 1}), costs.estimate({"n": 30, "seed": 0})
    (4.0, 6.0)

    Attributes:
        guess: seconds of a task before anything was measured.
    """

    guess: Callable[[Task], float] = _same
    _measured: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _guessed: float = 0.0
    _taken: float = 0.0

    def observe(self, task: Task, seconds: float) -> None:
        """Takes note of what a task took."""
        self._measured[_group(task)].append(seconds)
        self._guessed += self.guess(task)
        self._taken += seconds

    def estimate(self, task: Task) -> float:
        """Seconds a task will take."""
        measured = self._measured.get(_group(task))
        if measured:
            return sum(measured) / len(measured)
        return self.guess(task) * (self._taken / self._guessed if self._guessed else 1.0)


@dataclass(frozen=True)
class Budget:
    """Wall-clock time that a sweep may take; it is kept.

    A task is started only if it should be finished in time, and is given up if it is not.

    Attributes:
        seconds: from when the budget is made.
        started: when that was.
    """

    seconds: float
    started: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds left, below 0 if it is spent."""
        return self.started + self.seconds - time.monotonic()


def _group(task: Task) -> str:
    return row_key("", {name: value for name, value in task.items() if name != "seed"})
