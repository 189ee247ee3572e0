"""Tables and interventions as Python users hand them over: arrays, frames, lists of names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ucad._types import VariableSamples, WhichIntervened
from ucad.data.checks import check_finite, some
from ucad.data.duplicates import find_variable
from ucad.data.frames import in_order, without_columns
from ucad.data.targets import (
    JOINT,
    check_targets,
    is_nothing,
    join_targets,
    split_targets,
)
from ucad.errors import InvalidInputError

__all__ = [
    "as_factors",
    "as_numbers",
    "check_table",
    "clamps_of",
    "columns_by_name",
    "finite_values",
    "given_interventions",
    "take_column",
]

_TABLE_LIKE = ("__array__", "__array_interface__", "__dataframe__", "__dlpack__", "toarray")
"""What arrays, frames and sparse matrices have one of; a Python object without any is no table."""

_ADVICE = {
    "str": "Read a file with ucad.read(path).",
    "PurePath": "Read a file with ucad.read(path).",
    "dict": "Make a frame of it: pandas.DataFrame(X).",
    "AnnData": "Use ucad.tl.factors(adata, target=…), or read the .h5ad file with ucad.read.",
    "LazyFrame": "Call .collect() first.",
    "generator": "Make a list of it.",
}
"""What to do with objects that are often handed over, by the name of their class."""


def check_table(X: Any) -> None:
    """Refuses what is no table, or would become other numbers than the user means.

    Such are masked values and dates. In a frame, every column that holds no numbers is named.
    """
    if not isinstance(X, list | tuple) and not any(hasattr(X, name) for name in _TABLE_LIKE):
        kinds = [kind.__name__ for kind in type(X).__mro__]
        advice = next((f" {_ADVICE[kind]}" for kind in kinds if kind in _ADVICE), "")
        raise InvalidInputError(
            f"X must be samples × variables: an array, a frame, or an InterventionalData. Got "
            f"{kinds[0]} instead.{advice}"
        )
    n_masked = int(np.ma.getmaskarray(X).sum()) if isinstance(X, np.ma.MaskedArray) else 0
    if n_masked:
        raise InvalidInputError(
            f"X has {n_masked} masked value(s). Leave these rows or columns out, or fill the "
            f"values in, first."
        )
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in ("M", "m"):
        raise InvalidInputError(f"X must hold numbers. Got dates or times ({X.dtype}) instead.")
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        _check_frame(X)


def take_column(X: Any, name: str) -> tuple[Any, Any]:
    """A frame without a column, and that column."""
    if not hasattr(X, "columns") or name not in list(X.columns):
        raise InvalidInputError(
            f"'interventions' names the column '{name}', and X has no such column."
        )
    return without_columns(X, [name]), list(X[name])


def columns_by_name(X: Any, names: Sequence[str]) -> VariableSamples | None:
    """The columns of a frame in the order of a model's variables; None if X says no names.

    Raises:
        InvalidInputError: a variable that has a name of its own is not in the frame.
    """
    columns = list(getattr(X, "columns", ()))
    if not columns or not hasattr(X, "iloc") or not all(isinstance(c, str) for c in columns):
        return None
    chosen = {name: _column_of(name, columns) for name in names}
    missing = [name for name, column in chosen.items() if column is None]
    if missing and list(names) == [f"X{number}" for number in range(1, len(names) + 1)]:
        return None  # fitted without names: scikit-learn warns of that
    if missing:
        raise InvalidInputError(
            f"X has no column for {len(missing)} of the {len(names)} variables of the model: "
            f"{some(missing)}."
        )
    check_table(X)
    x = X[list(chosen.values())].to_numpy(dtype=np.float64, na_value=np.nan)
    check_finite(x, names)
    return np.asarray(x)


def _column_of(name: str, columns: Sequence[str]) -> str | None:
    """The column of a variable, or the first of those that were merged into it."""
    if name in columns:
        return name
    return next((part for part in name.split(JOINT) if part in columns), None)


def given_interventions(
    interventions: Any, shape: tuple[int, int], names: Sequence[str] | None = None
) -> np.ndarray | list[str]:
    """What was clamped: a matrix like X as it is, anything else as one label per sample.

    Args:
        interventions: a matrix of zeros and ones, or for every sample a name, several joined by `;`
            or in a list, or nothing (None, NaN, an empty text).
        shape: the numbers of samples and variables.
        names: the variables, if X says them: a frame of zeros and ones is read by its columns.
    """
    if hasattr(interventions, "toarray"):
        interventions = interventions.toarray()
    if hasattr(interventions, "columns") and names is not None:
        interventions = in_order(interventions, names)
    if isinstance(interventions, np.ma.MaskedArray) and np.ma.getmaskarray(interventions).any():
        raise InvalidInputError("'interventions' has masked values. Say what was clamped there.")
    try:
        rows = list(np.asarray(interventions) if hasattr(interventions, "shape") else interventions)
    except TypeError:
        raise InvalidInputError(
            f"'interventions' must be a matrix like X, a label for every sample, or the name of a "
            f"column. Got {interventions!r} instead."
        ) from None
    if getattr(interventions, "ndim", 1) > 1 or _are_flags(rows, shape[1]):
        matrix = np.asarray(interventions if hasattr(interventions, "shape") else rows)
        if matrix.shape != shape:
            raise InvalidInputError(
                f"'interventions' as a matrix must have the shape of X, {shape}. "
                f"Got {matrix.shape} instead."
            )
        return matrix
    if len(rows) != shape[0]:
        raise InvalidInputError(
            f"'interventions' must have one entry per sample, {shape[0]}. Got {len(rows)} instead."
        )
    return [_label(at, entry) for at, entry in enumerate(rows)]


def clamps_of(labels: Sequence[str], names: Sequence[str]) -> WhichIntervened:
    """Which of the variables were clamped in every sample; a misspelt name is refused.

    >>> clamps_of(["", "a", "a;b"], ("a", "b|c")).tolist()
    [[False, False], [True, False], [True, True]]
    """
    meant = {
        label: [find_variable(name, names) for name in split_targets(label)]
        for label in dict.fromkeys(labels)
    }
    check_targets(Counter(name for label in labels for name in meant[label]), names)
    clamps = {label: np.isin(names, found) for label, found in meant.items()}
    return np.array([clamps[label] for label in labels])


def _check_frame(X: Any) -> None:
    if getattr(X.columns, "nlevels", 1) > 1:
        raise InvalidInputError(
            f"The columns of X have names of {X.columns.nlevels} levels. Join them into one, for "
            f"example with X.columns = ['_'.join(map(str, name)) for name in X.columns]."
        )
    doubled = [str(name) for name, count in Counter(X.columns).items() if count > 1]
    if doubled:
        raise InvalidInputError(f"X has two columns of the same name: {some(doubled)}.")
    kinds = zip(X.columns, X.dtypes, strict=True)
    odd = [name for name, dtype in kinds if getattr(dtype, "kind", "O") not in "fiub"]
    wrong = [problem for name in odd if (problem := _no_numbers(X[name], name))]
    if wrong:
        more = f" So do {len(wrong) - 3} more columns." if len(wrong) > 3 else ""
        raise InvalidInputError(
            f"{' '.join(wrong[:3])}{more} Leave out what is no variable; a column that names what "
            f"was clamped is given as interventions='name of the column'."
        )


def _no_numbers(column: Any, name: object) -> str | None:
    """What is wrong with a column of a frame, if anything is."""
    text = f"Column '{name}' of X must hold numbers."
    if getattr(column.dtype, "kind", "O") in "mM":
        return f"{text} It holds dates or times."
    for row, value in enumerate(column):
        if not is_nothing(value):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                return f"{text} Row {row} is {str(value)[:40]!r}."
    return None


def _are_flags(rows: list[Any], n_variables: int) -> bool:
    """Whether lists or tuples are the rows of a matrix of numbers, not of names."""
    return bool(rows) and all(
        isinstance(row, list | tuple | np.ndarray)
        and len(row) == n_variables
        and all(isinstance(entry, Number | np.bool_) for entry in row)
        for row in rows
    )


def _label(at: int, entry: Any) -> str:
    """The label of a sample: nothing, a name (or several joined by `;`), or a list of names."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, set | frozenset):
        entry = sorted(entry, key=str)
    if isinstance(entry, list | tuple | np.ndarray):
        if all(isinstance(name, str) for name in entry):
            return join_targets(map(str, entry))
    elif is_nothing(entry):
        return ""
    elif isinstance(entry, Number) and not isinstance(entry, bool | np.bool_):
        return str(entry)  # a column that is called by a number
    raise InvalidInputError(
        f"'interventions' must name the variables that were clamped in every sample. "
        f"The entry of sample {at} is {str(entry)[:40]!r}, of type {type(entry).__name__}."
    )


def as_numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """An array of numbers of whatever the user gave."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"'{name}' must be a matrix of numbers: {error}.") from error


def as_factors(Z: Any, n_factors: int) -> NDArray[np.float64]:
    """Values of factors: one row per sample, one column per factor."""
    z = as_numbers(Z, "Z")
    if z.ndim != 2 or z.shape[1] != n_factors:
        raise InvalidInputError(f"'Z' must be samples × {n_factors} factors. Got shape {z.shape}.")
    return z


def finite_values(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Refuses to hand out NaN and infinity."""
    if not np.isfinite(values).all():
        raise InvalidInputError(
            "The model gives no finite numbers here: what it was given, or a weight of it, is too "
            "large."
        )
    return np.asarray(values)
