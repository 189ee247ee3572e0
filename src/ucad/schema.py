"""The shape that stored values must have, written as the shape itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, TypeAlias

from ucad.errors import FormatError

__all__ = ["PLAIN", "Optional", "Shape", "check_shape"]

Shape: TypeAlias = Any
"""A type, a tuple of alternatives, `[shape of every entry]`, `{str: shape of every value}`, or a
mapping from names to shapes, in which an `Optional` may be missing. Other names are let pass."""

PLAIN = (bool, int, float, str, NoneType)
"""What JSON can hold besides objects and lists."""


@dataclass(frozen=True)
class Optional:
    """A member that may be missing."""

    shape: Shape


def check_shape(value: object, shape: Shape, what: str) -> None:
    """Refuses a value of another shape, and numbers that are not finite.

    A truth value is not taken for a number, and a whole number is a number.

    >>> check_shape({"names": ["a"], "seconds": 1}, {"names": [str], "seconds": float}, "run.json")
    >>> check_shape({"names": ["a", 2]}, {"names": [str]}, "run.json")
    Traceback (most recent call last):
    ucad.errors.FormatError: run.json: 'names[1]' must be a text. Got 2 instead.
    """
    problem = _problem(value, shape, "")
    if problem is not None:
        raise FormatError(f"{what}: {problem}")


def _problem(value: object, shape: Shape, where: str) -> str | None:
    if isinstance(shape, Optional):
        return _problem(value, shape.shape, where)
    if isinstance(shape, tuple) and not all(isinstance(kind, type) for kind in shape):
        problems = [_problem(value, kind, where) for kind in shape]
        return None if None in problems else problems[0]
    if isinstance(shape, type | tuple):
        kinds = shape if isinstance(shape, tuple) else (shape,)
        if any(_is(value, kind) for kind in kinds):
            return None
        wanted = " or ".join(dict.fromkeys(_NAMES.get(kind, kind.__name__) for kind in kinds))
        return f"'{where or 'it'}' must be {wanted}. Got {_shown(value)} instead."
    if isinstance(shape, list):
        if not isinstance(value, list | tuple):
            return f"'{where or 'it'}' must be a list. Got {_shown(value)} instead."
        parts = ((entry, shape[0], f"{where}[{i}]") for i, entry in enumerate(value))
        return next(filter(None, (_problem(*part) for part in parts)), None)
    if not isinstance(value, Mapping):
        return f"'{where or 'it'}' must be an object. Got {_shown(value)} instead."
    return _problem_of_members(value, shape, where)


def _problem_of_members(
    value: Mapping[Any, Any], shape: Mapping[Any, Shape], where: str
) -> str | None:
    start = f"{where}." if where else ""
    if set(shape) == {str}:
        parts = [(entry, shape[str], f"{start}{name}") for name, entry in value.items()]
    else:
        for name, inner in shape.items():
            if name not in value and not isinstance(inner, Optional):
                return f"'{start}{name}' is missing."
        parts = [(value[name], shape[name], f"{start}{name}") for name in shape if name in value]
    return next(filter(None, (_problem(*part) for part in parts)), None)


def _is(value: object, kind: type) -> bool:
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind in (bool, object)
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, (int, float) if kind is float else kind)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


_NAMES = {
    bool: "true or false",
    int: "a whole number",
    float: "a finite number",
    str: "a text",
    NoneType: "nothing",
}
