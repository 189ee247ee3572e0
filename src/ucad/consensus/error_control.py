"""How many edges come back by chance: the bounds of complementary pairs stability selection."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

from ucad.errors import InvalidInputError

__all__ = ["ErrorControl", "Interval", "expected_unimodal", "expected_worst_case", "wilson"]

NORMAL_95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


class Interval(NamedTuple):
    """A 95 % interval of a share."""

    low: float
    high: float


def wilson(count: int, n: int) -> Interval:
    """Wilson's interval for a share of `count` in `n`.

        (p̂ + z²/2n ± z √(p̂(1 − p̂)/n + z²/4n²)) / (1 + z²/n),   p̂ = count / n

    It says how well `n` draws tell the share over *all* draws of these samples, as if draws were
    independent, and nothing about samples that were never taken.

    >>> wilson(36, 40)
    Interval(low=0.769..., high=0.960...)
    """
    if n == 0:
        return Interval(0.0, 1.0)
    share, z = count / n, NORMAL_95
    middle = share + z * z / (2 * n)
    width = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low, high = (middle - width) / scale, (middle + width) / scale
    return Interval(max(0.0, low) if count else 0.0, min(1.0, high) if count < n else 1.0)


def expected_worst_case(n_selected: float, n_possible: int, threshold: float) -> float:
    """E|S_τ ∩ L_θ| ≤ q θ / (2τ − 1),   θ = q / p.

    q is the mean number of edges in the graph of one half, p the number of possible ones, S_τ the
    edges with support of at least τ > ½, and L_θ those with a probability of at most θ, that of a
    random guess, to be found in a half: *noise* for a method that finds no wrong edge more often
    than by guessing. It assumes independent samples, so that what two halves without a common
    sample select is independent, and nothing about the edges: not that they are exchangeable. A
    wrong edge that a model's bias finds again and again is not in L_θ, and not counted.

    Source: Shah and Samworth, "Variable selection with error control: another look at stability
    selection" (2013), their theorem 1.
    """
    _check(threshold)
    if n_possible == 0:
        return 0.0
    return min(n_selected**2 / (n_possible * (2 * threshold - 1)), float(n_possible))


def expected_unimodal(
    n_selected: float, n_possible: int, threshold: float, n_pairs: int
) -> float | None:
    """E|S_τ ∩ L_θ| ≤ C(τ, B) q θ, if the share of pairs that agree is unimodal; else None.

        C = 1 / (2 (2τ − 1 − 1/2B))         if min(½ + θ², ½ + 1/2B + ¾θ²) < τ ≤ ¾
        C = 4 (1 − τ + 1/2B) / (1 + 1/B)     if τ > ¾,          θ ≤ 1/√3

    with B pairs of halves. None where the theorem does not apply.

    Source: their theorem 2.
    """
    _check(threshold)
    if n_possible == 0:
        return 0.0
    theta, B = n_selected / n_possible, n_pairs
    least = min(0.5 + theta**2, 0.5 + 1 / (2 * B) + 0.75 * theta**2) if B else 1.0
    if not B or theta > 1 / sqrt(3) or threshold <= least:
        return None
    if threshold <= 0.75:
        C = 1 / (2 * (2 * threshold - 1 - 1 / (2 * B)))
    else:
        C = 4 * (1 - threshold + 1 / (2 * B)) / (1 + 1 / B)
    return min(C * n_selected * theta, float(n_possible))


@dataclass(frozen=True, kw_only=True)
class ErrorControl:
    """How many of the edges above the threshold would be there by chance.

    Attributes:
        n_possible: p, the edges that could be.
        n_selected: q, the mean number of edges in the graph of one half.
        n_above: edges with support of at least the threshold.
        expected_false: the most of those expected among edges that a half finds no more often
            than by guessing, in the worst case.
        expected_false_unimodal: the same under unimodality, or None where that does not apply.
    """

    n_possible: int
    n_selected: float
    n_above: int
    expected_false: float
    expected_false_unimodal: float | None

    @classmethod
    def of(
        cls, n_selected: float, n_possible: int, n_above: int, threshold: float, n_pairs: int
    ) -> ErrorControl:
        """Both bounds."""
        return cls(
            n_possible=n_possible,
            n_selected=n_selected,
            n_above=n_above,
            expected_false=expected_worst_case(n_selected, n_possible, threshold),
            expected_false_unimodal=expected_unimodal(n_selected, n_possible, threshold, n_pairs),
        )


def _check(threshold: float) -> None:
    if not 0.5 < threshold <= 1:
        raise InvalidInputError(
            f"The 'threshold' of stability selection must be above 0.5 and at most 1. "
            f"Got {threshold} instead."
        )
