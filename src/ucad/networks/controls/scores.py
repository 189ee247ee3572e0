"""Scores with intervals, and what a comparison on the same pairs says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from jaxtyping import Bool

from ucad.networks.interchange import InterchangeScore

__all__ = [
    "Comparison",
    "ControlScore",
    "Role",
    "Score",
    "Verdict",
    "compared",
    "compared_anew",
    "scored",
]

Z_95 = 1.959964
"""The standard normal quantile of a two-sided interval of 95 %."""


class Role(StrEnum):
    """What a line of the table is for."""

    PLACEBO = "placebo"
    """Something that a found factor must be better than."""
    RESTRICTED = "restricted"
    """A placebo of the factor cut in two: with a decoder that is a table and cannot compute."""
    REFERENCE = "reference"
    """Something to compare with: what the site, the network or labels allow."""


class Verdict(StrEnum):
    """What all placebos together say of a factor."""

    ABOVE = "above every placebo"
    TIED = "not distinguished"
    BELOW = "below a placebo"

    @classmethod
    def of(cls, comparisons: Iterable[Comparison]) -> Verdict:
        """Above all of several, below one of them, or neither."""
        found = {one.verdict for one in comparisons}
        return next(
            one for one in (cls.BELOW, cls.TIED, cls.ABOVE) if one in found or one is cls.ABOVE
        )


@dataclass(frozen=True)
class Score(InterchangeScore):
    """An interchange score with a 95 % interval over pairs.

    Attributes:
        low: the interval's lower end.
        high: its upper end.
    """

    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}] "
            f"(change {self.on_changes:.3f}, keep {self.on_keeps:.3f})"
        )


@dataclass(frozen=True)
class Comparison:
    """The score of a factor minus that of a control on the same pairs, with a 95 % interval."""

    difference: float
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        """Above, below, or neither."""
        if self.low > 0:
            return Verdict.ABOVE
        return Verdict.BELOW if self.high < 0 else Verdict.TIED


@dataclass(frozen=True)
class ControlScore:
    """One control, for one concept.

    Attributes:
        kind: what was done.
        role: placebo or reference.
        score: of the draw with the highest score.
        mean: over draws.
        n_draws: how many; of the supervised direction, how many starts.
        against: the found factor's score minus this one; None for references.
        note: what else is to be known.
    """

    kind: str
    role: Role
    score: Score
    mean: float
    n_draws: int
    against: Comparison | None = None
    note: str = ""

    def __str__(self) -> str:
        text = f"{self.kind:<38} {self.score}"
        if self.n_draws > 1:
            text += f", largest of {self.n_draws} (mean {self.mean:.3f})"
        if self.against is not None and self.against.verdict is not Verdict.ABOVE:
            text += f", {self.against.verdict}"
        return text + (f"; {self.note}" if self.note else "")


def scored(right: Bool[np.ndarray, " pairs"], changes: Bool[np.ndarray, " pairs"]) -> Score:
    """The mean of the accuracies on pairs that should change and on pairs that should not.

    The interval is normal, with (successes + 1) / (pairs + 2) for the share in its width, so that a
    perfect score has one, too.

    >>> scored(np.array([True, True, True, False]), np.array([True, True, False, False])).mean
    0.75
    """
    shares, variance, counts = [], 0.0, []
    for kind in (True, False):
        own = right[changes == kind]
        n = max(len(own), 1)
        shares.append(float(own.mean()) if len(own) else 0.5)
        smooth = (float(own.sum()) + 1) / (n + 2)
        variance += smooth * (1 - smooth) / n
        counts.append(len(own))
    mean, half = sum(shares) / 2, Z_95 * variance**0.5 / 2
    ends = max(0.0, mean - half), min(1.0, mean + half)
    return Score(shares[0], shares[1], counts[0], counts[1], *ends)


def compared(
    right: Bool[np.ndarray, " pairs"],
    control: Bool[np.ndarray, " pairs"],
    changes: Bool[np.ndarray, " pairs"],
) -> Comparison:
    """The difference of two scores on the same pairs, with the variance of paired differences.

    One pair's worth of variance is added, so that equal results are a tie, not a certainty.

    >>> compared(np.ones(4, bool), np.ones(4, bool), np.array([1, 1, 0, 0], bool)).verdict
    <Verdict.TIED: 'not distinguished'>
    """
    difference, variance = 0.0, 0.0
    for kind in (True, False):
        own = right[changes == kind].astype(float) - control[changes == kind].astype(float)
        n = max(len(own), 1)
        difference += float(own.sum()) / n / 2
        variance += (float(own.var()) if len(own) else 0.0) / n + 1 / n**2
    half = Z_95 * variance**0.5 / 2
    return Comparison(difference, difference - half, difference + half)


def compared_anew(
    anew: Bool[np.ndarray, " pairs"],
    own: Bool[np.ndarray, " pairs"],
    control: Bool[np.ndarray, " pairs"],
    changes: Bool[np.ndarray, " pairs"],
) -> Comparison:
    """The comparison of a factor whose decoder was trained anew, as the control's was.

    Where the control is above it but not above the factor with the decoder of its own fit, the
    order depends on the decoder: that is a tie.

    >>> both, none = np.ones(40, bool), np.zeros(40, bool)
    >>> compared_anew(none, both, both, np.arange(40) % 2 == 0).verdict
    <Verdict.TIED: 'not distinguished'>
    """
    found = compared(anew, control, changes)
    if found.verdict is not Verdict.BELOW:
        return found
    if compared(own, control, changes).verdict is Verdict.BELOW:
        return found
    return replace(found, high=0.0)
