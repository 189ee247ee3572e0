"""The form of every answer: `Answer`, `Claim`, and how names and numbers are put into sentences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = ["WORST_FIRST", "Answer", "Claim", "figure", "listed", "percent", "worst"]


class Answer(StrEnum):
    """What a check found."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"
    UNKNOWN = "not known"


_FROM_GOOD_TO_BAD = (Answer.YES, Answer.PARTLY, Answer.UNKNOWN, Answer.NO)

WORST_FIRST = (Answer.NO, Answer.PARTLY, Answer.UNKNOWN, Answer.YES)
"""The order in which answers are shown: what may not be claimed, or not in full, comes first."""


def worst(answers: Iterable[Answer]) -> Answer:
    """The least favourable of several answers; yes if there are none.

    >>> worst([Answer.YES, Answer.UNKNOWN, Answer.PARTLY])
    <Answer.UNKNOWN: 'not known'>
    """
    return max(answers, key=_FROM_GOOD_TO_BAD.index, default=Answer.YES)


@dataclass(frozen=True)
class Claim:
    """One question about a fitted model, and what was found.

    Attributes:
        key: a short name of the question, for programs.
        question: the question itself; the answer yes is always the good one.
        answer: what the check found.
        text: what may and what may not be claimed, in plain words.
        statement: the title of the paper's statement behind it, or the test.
        details: the numbers and names it rests on, ready for JSON.
    """

    key: str
    question: str
    answer: Answer
    text: str
    statement: str
    details: dict[str, Any] = field(default_factory=dict)


def listed(names: Iterable[str], most: int = 6) -> str:
    """Joins names for a sentence.

    >>> listed(["a", "b", "c"], most=2), listed(["a", "b"]), listed([])
    ('a, b and 1 more', 'a and b', 'none')
    """
    names = list(names)
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]])) or "none"


def figure(value: float) -> str:
    """A number for a sentence.

    >>> figure(0.01234), figure(1255.97), figure(6e18)
    ('0.0123', '1,256', '6e+18')
    """
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"


def percent(share: float, digits: int = 0) -> str:
    """A share for a sentence.

    >>> percent(0.914), percent(0.0123, 1)
    ('91%', '1.2%')
    """
    return f"{100 * share:.{digits}f}%"
