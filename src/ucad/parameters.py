"""Single values that a user hands over: each is taken as it is, or refused with what is wanted."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from ucad.errors import InvalidInputError, did_you_mean

__all__ = [
    "MAX_SEED",
    "as_callable",
    "as_flag",
    "as_number",
    "as_path",
    "as_seed",
    "as_text",
    "as_whole_number",
    "check_device",
    "one_of",
    "seed_of",
]

MAX_SEED = 2**32 - 1
"""The largest seed that every random generator we use takes: numpy's legacy one has 32 bits."""


def as_whole_number(
    value: Any, name: str, *, low: int, high: int | None = None, other: str = ""
) -> int:
    """A whole number in a range; truth values, texts and fractions are refused.

    `other` is what the message names as the alternative, if there is one.

    >>> as_whole_number(2.5, "n_factors", low=1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ucad.errors.InvalidInputError: The 'n_factors' parameter must be ... of at least 1. Got 2.5 ...
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if is_whole and low <= int(value) and (high is None or int(value) <= high):
        return int(value)
    span = f"of at least {low}" if high is None else f"from {low} to {high}"
    alternative = f", or {other!r}" if other else ""
    raise InvalidInputError(_refused(name, f"a whole number {span}{alternative}", value))


def as_seed(value: Any, name: str = "seed") -> int:
    """A random seed."""
    return as_whole_number(value, name, low=0, high=MAX_SEED)


def as_number(value: Any, name: str, wanted: str, low: float, high: float) -> float:
    """A finite number with low ≤ value < high; `wanted` says so in words."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if is_number and math.isfinite(value) and low <= value < high:
        return float(value)
    raise InvalidInputError(_refused(name, wanted, value))


def as_flag(value: Any, name: str) -> bool:
    """True or False, and nothing that merely counts as one of them."""
    if type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise InvalidInputError(_refused(name, "True or False", value))


def one_of(value: Any, name: str, choices: Sequence[str]) -> str:
    """One of several names."""
    if isinstance(value, str) and value in choices:
        return value
    wanted = f"one of {', '.join(choices)}"
    raise InvalidInputError(_refused(name, wanted, value) + did_you_mean(str(value), choices))


def as_text(value: Any, name: str, example: str) -> str:
    """A text, such as the name of a solver; whether it is a known one is asked elsewhere."""
    if isinstance(value, str):
        return value
    raise InvalidInputError(_refused(name, f"a text, such as {example!r}", value))


def as_path(value: Any, name: str) -> Path:
    """A path to a file or a folder; an empty text would mean the current folder."""
    if isinstance(value, str | os.PathLike) and str(value):
        return Path(value)
    raise InvalidInputError(_refused(name, "a path", value))


def as_callable(value: Any, name: str) -> Any:
    """A function, or None."""
    if value is None or callable(value):
        return value
    raise InvalidInputError(_refused(name, "a function, or None", value))


def _refused(name: str, wanted: str, value: Any) -> str:
    return f"The '{name}' parameter must be {wanted}. Got {_shown(value)} instead."


def _shown(value: Any) -> str:
    """A value in one short line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_LONGEST = 80
"""Characters of a value that a message shows: about one line of a terminal."""


def seed_of(random_state: Any) -> int:
    """The seed of scikit-learn's `random_state`: a number, a generator, or None."""
    import numpy as np

    if random_state is None or isinstance(random_state, np.random.RandomState):
        from sklearn.utils import check_random_state

        return int(check_random_state(random_state).randint(2**31 - 1))
    return as_seed(random_state, "random_state")


def check_device(device: str) -> None:
    """Refuses a device that is not here; meta devices compute nothing."""
    import torch

    try:
        float(torch.ones(1, device=device).sum())
    except Exception as error:
        raise InvalidInputError(
            f"The 'device' parameter of UCAD must name a device that this machine has, such as "
            f"'cpu'. Got {device!r} instead."
        ) from error
