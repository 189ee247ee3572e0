"""What was done to the targets of a regime: clamped, shifted, changed otherwise, or not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np

from ucad.errors import InvalidInputError, did_you_mean

__all__ = ["KINDS", "RegimeKind", "kinds_by_sample", "kinds_of_regimes"]


class RegimeKind(StrEnum):
    """What a regime does to its targets.

    AUTO: not told; the data are asked.
    CLAMP: set from outside, to a value or at random: a target no longer listens to its parents.
    SHIFT: a constant is added; a target still listens as before.
    SOFT: its mechanism is changed, such as knocked down; it still listens, if less.
    UNKNOWN: nothing is said, so nothing is concluded that a soft target would forbid.
    UNMEASURED: what was acted on is not among the variables.
    """

    AUTO = "auto"
    CLAMP = "clamp"
    SHIFT = "shift"
    SOFT = "soft"
    UNKNOWN = "unknown"
    UNMEASURED = "unmeasured"

    @property
    def may_listen(self) -> bool:
        """Whether a target may still go with its parents."""
        return self in (RegimeKind.SHIFT, RegimeKind.SOFT, RegimeKind.UNKNOWN)


KINDS = tuple(str(kind) for kind in RegimeKind if kind is not RegimeKind.UNMEASURED)
"""What a user may say; a regime is unmeasured if its target is not among the variables."""


def kinds_of_regimes(
    told: str | Mapping[str, str], regime_names: Sequence[str]
) -> tuple[RegimeKind, ...]:
    """The kind of every regime: one for all, or by the name of the regime (others are `auto`)."""
    if isinstance(told, str):
        return (_kind(told),) * len(regime_names)
    for name in told:
        if name not in regime_names:
            raise InvalidInputError(
                f"There is no regime '{name}' whose kind could be told."
                f"{did_you_mean(name, regime_names)}"
            )
    return tuple(_kind(told.get(name, RegimeKind.AUTO)) for name in regime_names)


def kinds_by_sample(
    labels: Sequence[object], regime: np.ndarray, regime_names: Sequence[str]
) -> dict[str, str]:
    """The kind of every regime, from one label per sample; empty ones say nothing.

    Raises:
        InvalidInputError: a regime has two kinds, or a label is no kind.
    """
    told: dict[str, str] = {}
    for label, number in zip(labels, regime.tolist(), strict=True):
        text = "" if label is None or label != label else str(label).strip()
        if not text or number == 0:
            continue
        name = regime_names[number]
        if told.setdefault(name, text) != text:
            raise InvalidInputError(
                f"The samples of the regime '{name}' must have one kind of intervention. Got "
                f"'{told[name]}' and '{text}'."
            )
    for text in told.values():
        _kind(text)
    return told


def _kind(text: str) -> RegimeKind:
    if text not in KINDS:
        raise InvalidInputError(
            f"A kind of intervention must be one of {', '.join(KINDS)}. Got '{text}' instead."
            f"{did_you_mean(text, KINDS)}"
        )
    return RegimeKind(text)
