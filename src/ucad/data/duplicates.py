"""Columns that say the same twice: identical ones become one variable, similar ones are named."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from ucad._types import VariableSamples, WhichIntervened
from ucad.data.dataset import InterventionalData, Scaling
from ucad.data.targets import JOINT
from ucad.errors import FormatError, InvalidInputError, did_you_mean

__all__ = [
    "Columns",
    "columns_by_variable",
    "find_variable",
    "first_columns",
    "merge_duplicates",
    "merged_as",
    "near_duplicates",
    "variable_of_column",
]

NEAR = 0.999
"""The |correlation| from which two variables are named as nearly the same: at a variance of 1 they
differ by 4 % of a standard deviation, less than a model could tell apart by noise."""

MAX_COMPARED, MAX_ROWS = 2_000, 500
"""Variables and samples for which all pairs are compared: about half a second."""

TINY = 1e-300
"""What a column of zeros is divided by."""

_SHOWN = 5
"""Names listed in a message: enough to recognise what they have in common."""
_logger = logging.getLogger(__name__)


class Columns(NamedTuple):
    """Which columns of a table are which variables.

    >>> columns = Columns(np.array([0, 1, 0]))
    >>> columns.merged(np.array([[1.0, 2.0, 1.0]])), columns.expanded(np.array([[5, 6]]))
    (array([[1., 2.]]), array([[5, 6, 5]]))

    Attributes:
        variable: the number of the variable that every column holds.
    """

    variable: Int[np.ndarray, " columns"]

    @property
    def is_plain(self) -> bool:
        """Whether every column is a variable of its own."""
        return len(set(self.variable.tolist())) == len(self.variable)

    def merged(self, values: np.ndarray) -> np.ndarray:
        """One column per variable, the first of each."""
        return (
            values if self.is_plain else values[:, np.unique(self.variable, return_index=True)[1]]
        )

    def any_of(self, flags: WhichIntervened) -> WhichIntervened:
        """One flag per variable: whether any of its columns has it."""
        groups = columns_by_variable(self.variable)
        return np.stack([flags[:, group].any(axis=1) for group in groups], axis=1)

    def expanded(self, values: np.ndarray) -> np.ndarray:
        """The columns of a table from those of the variables."""
        return values if self.is_plain else values[:, self.variable]

    def to_json(self) -> dict[str, list[int]]:
        """What a run folder keeps; nothing if every column is a variable of its own."""
        return {} if self.is_plain else {"columns": self.variable.tolist()}

    @classmethod
    def from_json(cls, about: Mapping[str, Any], n_variables: int) -> Columns:
        """What `to_json` wrote, for so many variables."""
        stored = about.get("columns", list(range(n_variables)))
        if not isinstance(stored, list) or sorted(set(stored)) != list(range(n_variables)):
            raise FormatError("The run's 'columns' must name each variable of the model.")
        return cls(np.array(stored, dtype=np.int64))


def variable_of_column(data: InterventionalData) -> Int[np.ndarray, " columns"]:
    """For every column the number of its variable, when identical columns are one.

    Columns of different layers are never one: what they mean differs.
    """
    layers = np.zeros(data.n_variables, int) if data.layer_of is None else data.layer_of
    seen: dict[tuple[int, bytes], int] = {}
    keys = ((int(layers[j]), data.x[:, j].tobytes()) for j in range(data.n_variables))
    return np.array([seen.setdefault(key, len(seen)) for key in keys])


def columns_by_variable(of_column: Int[np.ndarray, " columns"]) -> list[list[int]]:
    """The columns of every variable, in the order of their numbers."""
    groups: dict[int, list[int]] = {}
    for column, variable in enumerate(of_column.tolist()):
        groups.setdefault(variable, []).append(column)
    return [groups[variable] for variable in sorted(groups)]


def merge_duplicates(
    data: InterventionalData,
) -> tuple[InterventionalData, Columns]:
    """Makes one variable of identical columns, named by all their names, and says so.

    Also says which columns are nearly the same.
    """
    of_column = variable_of_column(data)
    alike = near_duplicates(data.x, data.variable_names)
    if alike:
        _logger.warning(
            "%d pair(s) of variables are nearly the same (|correlation| ≥ %g): %s. A model can "
            "hardly tell them apart; leave one of each out.",
            len(alike),
            NEAR,
            _listed([f"'{a}' and '{b}'" for a, b in alike]),
        )
    if Columns(of_column).is_plain:
        return data, Columns(of_column)
    merged = _merged(data, of_column)
    joined = [name for name in merged.variable_names if name not in data.variable_names]
    _logger.warning(
        "%d column(s) repeat another and are merged with it: %s.",
        data.n_variables - merged.n_variables,
        _listed([f"'{name}'" for name in joined]),
    )
    return merged, Columns(of_column)


def merged_as(data: InterventionalData, names: Sequence[str]) -> InterventionalData:
    """The data set with the variables of a model, which may have merged some of the columns.

    Raises:
        InvalidInputError: a column belongs to no variable of the model, or one is missing.
    """
    if tuple(names) == data.variable_names:
        return data
    number = {name: at for at, joined in enumerate(names) for name in _parts(joined, data)}
    strange = [name for name in data.variable_names if name not in number]
    if strange or len(set(number.values())) != len(names):
        told = f" It has no '{strange[0]}'.{did_you_mean(strange[0], names)}" if strange else ""
        raise InvalidInputError(
            f"The data must have the variables of the model, {len(names)}. "
            f"Got {data.n_variables} variables.{told}"
        )
    of_column = np.array([number[name] for name in data.variable_names])
    return _merged(data, of_column, tuple(names))


def first_columns(columns: Sequence[str], names: Sequence[str]) -> Int[np.ndarray, " variables"]:
    """Of each variable of a model, which may have merged columns, the first column.

    >>> first_columns(("a", "b", "c"), ("a|c", "b")).tolist()
    [0, 1]
    """
    variable = [find_variable(column, names) for column in columns]
    return np.array([variable.index(name) for name in names], dtype=np.int64)


def find_variable(name: str, names: Sequence[str]) -> str:
    """The variable that a name means: itself, or the one that it was merged into."""
    if name in names:
        return name
    return next((joined for joined in names if name in joined.split(JOINT)), name)


def near_duplicates(x: VariableSamples, names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of columns with |r| ≥ 0.999 that are not identical, in up to 2,000 variables."""
    if len(x) < 3 or x.shape[1] > MAX_COMPARED:
        return []
    some = x[np.linspace(0, len(x) - 1, min(len(x), MAX_ROWS)).astype(int)].astype(np.float64)
    largest = np.abs(some).max(axis=0)
    unit = some / np.where(largest > 0, largest, 1.0)  # squares of the numbers may not fit
    unit = unit - unit.mean(axis=0)
    length = np.sqrt((unit**2).sum(axis=0))
    unit = unit / np.where(length > 0, length, 1.0)
    close = np.argwhere(np.triu(np.abs(unit.T @ unit) >= NEAR, k=1))
    return [
        (names[i], names[j])
        for i, j in close.tolist()
        if not (x[:, i] == x[:, j]).all() and abs(_correlation(x[:, i], x[:, j])) >= NEAR
    ]


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    a, b = (part / max(float(np.abs(part).max()), TINY) for part in (one, other))
    a, b = a - a.mean(dtype=np.float64), b - b.mean(dtype=np.float64)
    size = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / size if size > 0 else 0.0


def _merged(
    data: InterventionalData,
    of_column: Int[np.ndarray, " columns"],
    names: tuple[str, ...] | None = None,
) -> InterventionalData:
    """The first column of each variable; clamped where any of its columns is."""
    first = np.unique(of_column, return_index=True)[1]
    clamps = data.is_intervened[:, first].copy()
    for j in np.setdiff1d(np.arange(len(of_column)), first).tolist():
        clamps[:, of_column[j]] |= data.is_intervened[:, j]
    if names is None:
        groups = columns_by_variable(of_column)
        names = tuple(JOINT.join(data.variable_names[j] for j in group) for group in groups)
    return replace(
        data,
        x=data.x[:, first],
        is_intervened=clamps,
        variable_names=names,
        layer_of=None if data.layer_of is None else data.layer_of[first],
        scaling=data.scaling and Scaling(*(part[first] for part in data.scaling)),
        is_missing=None if data.is_missing is None else data.is_missing[:, first],
    )


def _parts(joined: str, data: InterventionalData) -> list[str]:
    """Those columns of the data that hold a variable of the model."""
    parts = [joined] if joined in data.variable_names else joined.split(JOINT)
    return [part for part in parts if part in data.variable_names]


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more
