"""Settings of worlds by name: changed, read from text, and refused with a suggestion."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

import numpy as np

from ucad.errors import InvalidInputError, did_you_mean

__all__ = ["changes_from_text", "check_choice", "start", "with_changes"]

Settings = TypeVar("Settings")


def start(
    settings: Settings, changes: Mapping[str, object], seed: int, name: str
) -> tuple[Settings, np.random.Generator]:
    """The settings with some of them changed, and the generator of all draws of a world."""
    return with_changes(settings, changes), np.random.default_rng([seed, *map(ord, name)])


def with_changes(settings: Settings, changes: Mapping[str, object]) -> Settings:
    """The settings with some of them changed.

    Args:
        settings: a frozen dataclass.
        changes: new values by name.

    Raises:
        InvalidInputError: there is no setting of that name, or its value is of another kind.
    """
    frozen = cast("Any", settings)
    known = {field.name: str(field.type) for field in fields(frozen)}
    for name, value in changes.items():
        if name not in known:
            raise InvalidInputError(
                f"{type(settings).__name__} has no setting '{name}'.{did_you_mean(name, known)} "
                f"It has {', '.join(known)}."
            )
        _check_kind(name, value, known[name])
    return cast("Settings", replace(frozen, **changes))


def changes_from_text(words: Iterable[str]) -> dict[str, object]:
    """Reads changes written as `name=value`, as on the command line.

    >>> changes_from_text(["parents=5", "signal=0.2,0.9", "shape=chain", "share_targeted=none"])
    {'parents': 5, 'signal': (0.2, 0.9), 'shape': 'chain', 'share_targeted': None}
    """
    changes: dict[str, object] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise InvalidInputError(f"A setting must be given as name=value. Got '{word}' instead.")
        changes[name] = _value(value)
    return changes


def check_choice(what: str, name: str, choices: Collection[str]) -> None:
    """Refuses a name that is not among the choices."""
    if name not in choices:
        listed = ", ".join(choice or "nothing" for choice in choices)
        raise InvalidInputError(
            f"The '{what}' setting must be one of {listed}. Got '{name}' instead."
            f"{did_you_mean(name, choices)}"
        )


def _value(text: str) -> object:
    if text.lower() == "none":
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _check_kind(name: str, value: object, kind: str) -> None:
    """Compares a value with the annotation of its setting, such as `int | None`."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    pair = isinstance(value, tuple) and len(value) == 2
    is_right = {
        "int": isinstance(value, int) and number,
        "float": number,
        "str": isinstance(value, str),
        "tuple[float, float]": pair and all(isinstance(v, int | float) for v in cast("Any", value)),
        "None": value is None,
    }
    if not any(is_right[part] for part in kind.split(" | ")):
        raise InvalidInputError(
            f"The '{name}' setting must be of the kind {kind.replace('|', 'or')}. Got {value!r} "
            "instead."
        )
