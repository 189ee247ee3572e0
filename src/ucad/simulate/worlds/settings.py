"""Changing settings by name, with a suggestion for a name that does not exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from ucad.errors import InvalidInputError, did_you_mean

__all__ = ["with_changes"]

Settings = TypeVar("Settings")


def with_changes(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The settings with some of them changed.

    Args:
        settings: a frozen dataclass.
        changes: new values by name.

    Raises:
        InvalidInputError: there is no setting of that name.
    """
    known = [field.name for field in fields(settings)]  # type: ignore[arg-type]
    for name in changes:
        if name not in known:
            raise InvalidInputError(
                f"{type(settings).__name__} has no setting '{name}'.{did_you_mean(name, known)} "
                f"It has {', '.join(known)}."
            )
    return replace(settings, **changes)  # type: ignore[type-var]
