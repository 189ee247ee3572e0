"""Frames of pandas and polars, by what both have: columns by name, and perhaps an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ucad.data.checks import some
from ucad.errors import InvalidInputError

__all__ = ["check_same_rows", "in_order", "without_columns"]


def without_columns(X: Any, names: Sequence[str]) -> Any:
    """A frame without some of its columns."""
    return X[[column for column in X.columns if column not in names]]


def check_same_rows(X: Any, beside: Any, name: str) -> None:
    """Refuses a frame or series whose index says that its rows are in another order than X's.

    Indices with other entries say nothing: many tables are numbered by themselves.
    """
    mine: Any = getattr(X, "index", None)
    theirs: Any = getattr(beside, "index", None)
    if not hasattr(mine, "equals") or not hasattr(theirs, "equals") or mine.equals(theirs):
        return
    if len(mine) == len(theirs) and mine.is_unique and set(mine) == set(theirs):
        raise InvalidInputError(
            f"'{name}' has the rows of X in another order. Put them in the same order: "
            f"{name}.loc[X.index]."
        )


def in_order(flags: Any, names: Sequence[str]) -> Any:
    """The columns of a frame in the order of the variables; numbered columns are in it already.

    Raises:
        InvalidInputError: it has other columns.
    """
    columns = list(flags.columns)
    if columns == list(range(len(columns))) or columns == list(names):
        return flags
    if sorted(map(str, columns)) != sorted(names):
        missing = [name for name in names if name not in columns]
        told = f"It has none for {some(missing)}." if missing else f"It has {some(columns)}."
        raise InvalidInputError(
            f"'interventions' as a frame must have a column for every variable of X. {told}"
        )
    return flags[list(names)]
