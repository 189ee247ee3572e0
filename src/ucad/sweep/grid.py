"""A grid of tasks, from a TOML file: every list is an axis."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ucad.errors import FormatError, InvalidInputError, did_you_mean
from ucad.files import read_toml
from ucad.sweep.table import Task

__all__ = ["OWN_DATA", "RECOVERY", "Grid", "read_grid"]

RECOVERY = "ucad.sweep.recovery:recover"
"""The default: simulate one of the paper's problems, fit it, compare with the truth."""

OWN_DATA = "ucad.cli.own_data:fit_own"
"""What is done with tasks that name a data file: one fit, with the settings of `ucad fit`."""

MAX_TASKS = 1_000_000
"""The most tasks of one table: more rows than anybody can read."""


@dataclass(frozen=True)
class Grid:
    """Independent tasks for one function.

    Attributes:
        tasks: what to do, in the order in which to start.
        function: `package.module:name` of what does it; workers must be able to import it.
    """

    tasks: tuple[Task, ...]
    function: str = RECOVERY


def read_grid(path: Path, *, allow_code: bool = False) -> Grid:
    """Reads a grid: tables `[[grid]]` in which a list is an axis and anything else is fixed.

        [[grid]]
        setting = ["a", "b"]
        size = "16-3"
        seed = "0:5"            # 0, 1, 2, 3, 4
        solver = "search"

    A table with `data = "screen.csv"` fits that file instead, with the settings of `ucad fit`.
    The tasks are all combinations of each table, the first axis varying slowest. `function =
    "package.module:name"` at the top has something else done with them: that module is imported
    and its function called, so it must be allowed.

    Args:
        path: the TOML file.
        allow_code: whether the grid may name a function of its own.

    Raises:
        FormatError: the file is no such grid.
        InvalidInputError: the default function cannot do one of the tasks.
    """
    content = read_toml(path)
    known = ("function", "grid")
    for name in content:
        if name not in known:
            raise FormatError(
                f"'{path}' must hold only {' and '.join(known)}. Got '{name}' instead."
                f"{did_you_mean(name, known)}"
            )
    tables, function = content.get("grid", []), content.get("function", RECOVERY)
    is_grid = isinstance(tables, list) and all(isinstance(table, dict) for table in tables)
    if not is_grid or not tables or not isinstance(function, str):
        raise FormatError(f"'{path}' must hold at least one table [[grid]]. Got none.")
    if function != RECOVERY and not allow_code:
        raise InvalidInputError(
            f"'{path}' has the code of '{function}' run. If you trust it, say so with --allow-code "
            f"(in Python: allow_code=True)."
        )
    tasks = tuple(task for table in tables for task in _combinations(table))
    if function == RECOVERY:
        function, canonical = _ours(tables)
        # It knows its options; a typo is refused before any work is done.
        tasks = tuple(canonical(task) for task in tasks)
    return Grid(tasks, function)


def _ours(tables: Sequence[Mapping[str, Any]]) -> tuple[str, Callable[[Task], dict[str, Any]]]:
    """Which of our two functions does the tasks, and what puts one into its own form."""
    on_files = {"data" in table for table in tables}
    if on_files == {True, False}:
        raise InvalidInputError(
            "The tables of a grid must all name 'data' or none of them: make two grids."
        )
    function = OWN_DATA if on_files == {True} else RECOVERY
    # By name, as a worker does it: the command line lies above the sweeps.
    module = importlib.import_module(function.partition(":")[0])
    return function, module.canonical


def _combinations(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    axes = [_axis(name, value) for name, value in table.items()]
    n_tasks = math.prod(len(axis) for axis in axes)
    if n_tasks > MAX_TASKS:
        raise InvalidInputError(
            f"A table of a grid must give at most {MAX_TASKS} tasks. Got {n_tasks} instead."
        )
    for values in itertools.product(*axes):
        yield dict(zip(table, values, strict=True))


def _axis(name: str, value: Any) -> Sequence[Any]:
    if name == "seed" and isinstance(value, str):
        first, _, last = value.partition(":")
        if not _is_count(first) or not _is_count(last) or int(first) >= int(last):
            raise InvalidInputError(
                f"Seeds must be a number, a list or 'first:last' with the last left out. "
                f"Got '{value}' instead."
            )
        return range(int(first), int(last))
    values = value if isinstance(value, list) else [value]
    if not values:
        raise InvalidInputError(f"The axis '{name}' of a grid must not be empty.")
    return values


def _is_count(text: str) -> bool:
    return text.isdecimal() and len(text) <= 10
