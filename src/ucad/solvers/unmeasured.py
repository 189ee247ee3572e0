"""Regimes whose targets are not measured: inferred, kept as they are, or left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from ucad.claims.hidden_actions import HiddenAction, hidden_actions, left_out
from ucad.data import InterventionalData
from ucad.solvers.status import Fit, FitResult

__all__ = ["UNMEASURED_CHOICES", "fit_with_unmeasured"]

UNMEASURED_CHOICES = ("keep", "infer", "drop")
"""`keep` takes their samples as they are, `infer` asks what they act on, `drop` leaves them out."""

MAX_SHOWN = 6
"""Regimes of which a note says what they act on; the others are counted."""


def fit_with_unmeasured(
    data: InterventionalData, validation: InterventionalData, choice: str, fit: Fit
) -> FitResult:
    """Fits data some of whose regimes act on something that was not measured.

    With `infer`, a first fit says which variables or factors each of them acts on; the terms of
    those in those regimes leave the likelihood, and a second fit says it again.
    """
    hidden = data.acts_on_hidden
    if choice == "keep" or not hidden[data.regime].any():
        return fit(data, validation)
    if choice == "drop":
        rest = [part.select(np.flatnonzero(~hidden[part.regime])) for part in (data, validation)]
        return fit(rest[0], rest[1])
    result = fit(data, validation)
    first = hidden_actions(result.scm, data)
    if first:
        parts = [left_out(part, first, result.scm) for part in (data, validation)]
        result = fit(parts[0], parts[1])
    found = hidden_actions(result.scm, data)
    return replace(result.with_notes(*_notes(found)), acts_on=found)


def _notes(found: Sequence[HiddenAction]) -> tuple[str, ...]:
    """One sentence per regime."""
    texts = [
        f"The unmeasured target of '{regime}' acts on {', '.join(map(str, actions))}."
        for regime, actions in groupby(found, key=lambda action: action.regime)
    ]
    more = len(texts) - MAX_SHOWN
    rest = (f"And {more} more with unmeasured targets.",) if more > 0 else ()
    return (*texts[:MAX_SHOWN], *rest)
