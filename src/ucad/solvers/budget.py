"""How long a fit may take, and what its status says when the time is over."""

from __future__ import annotations

import math
import time

from ucad.parameters import as_number

__all__ = ["Budget", "BudgetEndedError"]


class BudgetEndedError(Exception):
    """The time that a fit may take is over; a solver catches it and returns its best model."""


class Budget:
    """A limit on the seconds of wall-clock time of one fit, counted from when it is made.

    Attributes:
        max_seconds: the limit; None if there is none.
        cut_short: whether the time was found to be over while there was work left. A fit that
            looks at `is_over` only then can tell by this whether it was done.

    >>> Budget(None).is_over
    False
    >>> Budget(30.0).reason
    'The budget of 30 s ended.'
    """

    def __init__(self, max_seconds: float | None = None) -> None:
        if max_seconds is not None:
            wanted = "a finite number above 0, or None for no limit"
            as_number(max_seconds, "max_seconds", wanted, math.ulp(0.0), math.inf)
        self.max_seconds = max_seconds
        self.cut_short = False
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long the fit has taken so far."""
        return time.monotonic() - self._started

    @property
    def left(self) -> str:
        """How much of the limit is left, for a message; nothing if there is none.

        >>> Budget(30.0).left
        ', at most 30 s left'
        """
        if self.max_seconds is None:
            return ""
        return f", at most {max(0.0, self.max_seconds - self.seconds):.0f} s left"

    @property
    def is_over(self) -> bool:
        """Whether the time is used up; asked by a fit that would go on otherwise."""
        if self.max_seconds is not None and self.seconds >= self.max_seconds:
            self.cut_short = True
        return self.cut_short

    def check(self) -> None:
        """Raises `BudgetEndedError` once the time is used up."""
        if self.is_over:
            raise BudgetEndedError

    @property
    def reason(self) -> str:
        """What the status says of a fit that was cut short."""
        assert self.max_seconds is not None, "a fit without a limit cannot run out of time"
        return f"The budget of {self.max_seconds:g} s ended."

    @property
    def advice(self) -> str:
        """What to try next."""
        return "This is the best model so far: raise 'max_seconds' to go further."
