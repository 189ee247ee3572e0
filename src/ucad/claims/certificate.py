"""`Certificate`: every question asked and answered, and what may be claimed in the end."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ucad.claims.answers import WORST_FIRST, Answer, Claim
from ucad.claims.suggestions import Suggestion
from ucad.errors import FormatError, InvalidInputError, did_you_mean
from ucad.notebook import folded, paragraph, table

__all__ = ["ASSUMED", "CLAIMABLE", "WIDTH", "Certificate", "Permission"]

WIDTH = 79
"""Characters per line of the printed certificate: it fits a terminal of 80."""

SCHEMA_VERSION = 2
"""Of the JSON form; 1 had no tests on unseen samples."""

CLAIMABLE = {
    "graph": "what each factor is made from and what it drives",
    "directions": "the directions of the edges",
    "factors": "that there are exactly these factors",
    "values": "the factors' values",
    "predictions": "predictions of what interventions do",
}
"""What may be asked of `Certificate.may_claim`, in the order to read it."""

ASSUMED = (
    "Assumed throughout: no dependence cancels by accident (Markov property and faithfulness). "
    "That nothing unmeasured acts on several variables (causal sufficiency) is tested as far as it "
    "would leave something predictable in unseen samples, and assumed beyond that."
)


@dataclass(frozen=True)
class Permission:
    """Whether one thing may be claimed.

    Attributes:
        what: one of `CLAIMABLE`.
        answer: yes, partly, no, or not known.
        conditions: what a yes or partly depends on, or why not.
    """

    what: str
    answer: Answer
    conditions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """True if it may be claimed in full, under the conditions."""
        return self.answer is Answer.YES


@dataclass(frozen=True)
class Certificate:
    """What may be claimed of a fitted model.

    Attributes:
        verdict: one or two sentences that sum it up.
        permissions: one per entry of `CLAIMABLE`.
        claims: one for every question asked, in the order to read them.
        suggestions: what the findings suggest, the likeliest first.
        notes: what the solver had to say.
    """

    verdict: str
    permissions: tuple[Permission, ...]
    claims: tuple[Claim, ...]
    suggestions: tuple[Suggestion, ...] = ()
    notes: tuple[str, ...] = ()

    def may_claim(self, what: str) -> Permission:
        """Whether `graph`, `directions`, `factors`, `values` or `predictions` may be claimed."""
        return _pick({one.what: one for one in self.permissions}, what, "what may be claimed")

    def __getitem__(self, key: str) -> Claim:
        """Returns the answer to the question with that key."""
        return _pick({claim.key: claim for claim in self.claims}, key, "the question asked for")

    def to_json(self) -> str:
        """The certificate as JSON, without NaN or infinity."""
        plain = {"schema_version": SCHEMA_VERSION, **asdict(self)}
        return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Reads what `to_json` wrote.

        Raises:
            FormatError: the text is something else, or a certificate of an earlier form.
        """
        try:
            found = json.loads(text)
            _check_form(found)
            return cls(
                str(found["verdict"]),
                tuple(_permission(entry) for entry in found["permissions"]),
                tuple(_claim(entry) for entry in found["claims"]),
                tuple(Suggestion(**entry) for entry in found["suggestions"]),
                tuple(str(note) for note in found["notes"]),
            )
        except FormatError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"This is not a certificate: {error!r}.") from error

    def _repr_html_(self) -> str:
        rows = [
            [one.answer.value, CLAIMABLE[one.what], " ".join(one.conditions)]
            for one in sorted(self.permissions, key=lambda one: WORST_FIRST.index(one.answer))
        ]
        why = [[claim.answer.value, claim.question, claim.text] for claim in self.claims]
        suggested = "".join(paragraph(one.text) for one in self.suggestions)
        return (
            paragraph(self.verdict, strong="What may be claimed.")
            + table(["answer", "claim", "conditions, or why not"], rows)
            + folded("What this suggests", suggested)
            + folded("Why", table(["answer", "question", ""], why))
        )

    @property
    def answers(self) -> str:
        """What may be claimed, what not, and on which conditions, each told once, line by line."""
        lines, told = [], set[str]()
        for one in self.permissions:
            lines += _wrapped(f"[{one.answer.value:^9}] {CLAIMABLE[one.what]}", indent=INDENT)
            for condition in one.conditions:
                if condition not in told:
                    lines += _wrapped(f"· {condition}", first=INDENT, indent=f"{INDENT}  ")
            told |= set(one.conditions)
        return "\n".join(lines)

    def __str__(self) -> str:
        lines = ["What may be claimed", self.answers]
        if self.suggestions:
            lines += ["", "What this suggests"]
            for number, one_suggestion in enumerate(self.suggestions, 1):
                lines += _wrapped(f"{number}. {one_suggestion.text}", indent="   ")
        lines += ["", "Why"]
        for claim in self.claims:
            lines += _wrapped(f"[{claim.answer.value:^9}] {claim.question}", indent=INDENT)
            for text in (claim.text, f"— {claim.statement}"):
                lines += _wrapped(text, first=INDENT, indent=INDENT)
            lines.append("")
        for note in self.notes:
            lines += _wrapped(f"Note from the solver: {note}")
        return "\n".join([*lines, *_wrapped(ASSUMED)])


INDENT = " " * 12
EARLIER_FORM = (
    "This certificate was written by an earlier ucad, which did not test its claims on unseen "
    "samples: fit the model again to get one that does."
)


def _check_form(found: Mapping[str, Any]) -> None:
    version = found.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise FormatError(
            f"This certificate was written by a newer ucad (schema {version}; this one reads up to "
            f"{SCHEMA_VERSION}). Update ucad to read it."
        )
    if "verdict" in found and found.get("schema_version") != SCHEMA_VERSION:
        raise FormatError(EARLIER_FORM)


def _pick(known: Mapping[str, Any], key: str, what: str) -> Any:
    if not isinstance(key, str) or key not in known:
        raise InvalidInputError(
            f"The certificate must hold {what}; it has {', '.join(known)}. Got '{key}' instead."
            f"{did_you_mean(key, known)}"
        )
    return known[key]


def _permission(entry: Mapping[str, Any]) -> Permission:
    conditions = tuple(str(text) for text in entry["conditions"])
    if entry["what"] not in CLAIMABLE:
        raise ValueError(entry["what"])
    return Permission(entry["what"], Answer(entry["answer"]), conditions)


def _claim(entry: Mapping[str, Any]) -> Claim:
    texts = {name: str(entry[name]) for name in ("key", "question", "text", "statement")}
    return Claim(answer=Answer(entry["answer"]), details=dict(entry["details"]), **texts)


def _wrapped(text: str, *, first: str = "", indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=indent, break_long_words=False
    )
