"""A grid of tasks, from a TOML file: every list is an axis."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ucad.errors import FormatError, InvalidInputError, did_you_mean
from ucad.sweep.table import Task

__all__ = ["RECOVERY", "Grid", "read_grid"]

RECOVERY = "ucad.sweep.recovery:recover"
"""The default: simulate one of the paper's problems, fit it, compare with the truth."""


@dataclass(frozen=True)
class Grid:
    """Independent tasks for one function.

    Attributes:
        tasks: what to do, in the order in which to start.
        function: `package.module:name` of what does it; workers must be able to import it.
    """

    tasks: tuple[Task, ...]
    function: str = RECOVERY


def read_grid(path: Path) -> Grid:
    """Reads a grid: tables `[[grid]]` in which a list is an axis and anything else is fixed.

        [[grid]]
        setting = ["a", "b"]
        size = "16-3"
        seed = "0:5"            # 0, 1, 2, 3, 4
        solver = "search"

    The tasks are all combinations of each table, the first axis varying slowest. `function =
    "package.module:name"` at the top has something else done with them.

    Raises:
        FormatError: the file is no such grid.
        InvalidInputError: the default function cannot do one of the tasks.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"The grid '{path}' cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise FormatError(f"'{path}' is not a TOML file: {error}.") from error
    known = ("function", "grid")
    for name in content:
        if name not in known:
            raise FormatError(
                f"'{path}' must hold only {' and '.join(known)}. Got '{name}' instead."
                f"{did_you_mean(name, known)}"
            )
    tables, function = content.get("grid", []), content.get("function", RECOVERY)
    if not isinstance(tables, list) or not tables or not isinstance(function, str):
        raise FormatError(f"'{path}' must hold at least one table [[grid]]. Got none.")
    tasks = tuple(task for table in tables for task in _combinations(table))
    if function == RECOVERY:
        # It knows its options; a typo is refused before any work is done.
        from ucad.sweep.recovery import canonical

        tasks = tuple(canonical(task) for task in tasks)
    return Grid(tasks, function)


def _combinations(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    axes = [_axis(name, value) for name, value in table.items()]
    for values in itertools.product(*axes):
        yield dict(zip(table, values, strict=True))


def _axis(name: str, value: Any) -> list[Any]:
    if name == "seed" and isinstance(value, str):
        first, colon, last = value.partition(":")
        if not colon or not first.isdigit() or not last.isdigit() or int(first) >= int(last):
            raise InvalidInputError(
                f"Seeds must be a number, a list or 'first:last' with the last left out. "
                f"Got '{value}' instead."
            )
        return list(range(int(first), int(last)))
    values = value if isinstance(value, list) else [value]
    if not values:
        raise InvalidInputError(f"The axis '{name}' of a grid must not be empty.")
    return values
