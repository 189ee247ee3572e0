"""The cells of a table as numbers: headers, an index column, missing values, truth values."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ucad._types import VariableSamples
from ucad.errors import FormatError, InvalidInputError

__all__ = [
    "INDEX_NAMES",
    "MISSING_TEXTS",
    "as_matrix",
    "as_numbers",
    "check_named",
    "check_widths",
    "columns_of",
    "is_index",
    "take_index",
]

MISSING_TEXTS = {"", "na", "nan", "n/a", "n.a.", "<na>", "null", "none", "missing"}
MISSING_TEXTS |= {".", "-", "--", "?", "#n/a", "#div/0!", "#value!", "#ref!", "#num!"}
"""How tables and spreadsheets write a missing value, in lower case."""
_TRUTH = {"true": "1", "false": "0"}
INDEX_NAMES = ("", "Unnamed: 0", "__index_level_0__")
"""The names under which pandas writes the numbers of the rows; the first is R's, too."""
_INDEX_WORDS = {"index", "id", "row", "rowid", "rownames", "cell", "cellid", "sample", "sampleid"}
"""Names of a first column that, if it counts the rows, is their index."""
_OTHERWISE = re.compile(
    r"[-+\u2212]?[$€£¥]?\s?(\d{1,3}([,.'’\s]\d{3})+([.,]\d+)?|\d+[.,]?\d*)\s?[%‰$€£¥]?"
)
"""A number as it is written for people: by thousands, with a decimal comma, a currency, a `%`."""
_MANY = 3
"""Columns that all fail in one row, from which on the table seems to be transposed."""
FEW_ODD = 0.1
"""The share of cells without a number up to which they rather stand for missing values."""
_SHOWN = 5
"""Names listed in a message: enough to recognise what they have in common."""

_logger = logging.getLogger(__name__)


def check_widths(path: Path, rows: list[list[str]]) -> None:
    """Refuses lines with more or fewer fields than the header."""
    wrong = [(at, len(row)) for at, row in enumerate(rows, start=1) if len(row) != len(rows[0])]
    if not wrong:
        return
    listed = ", ".join(f"line {at} has {width}" for at, width in wrong[:_SHOWN])
    more = f", and {len(wrong) - _SHOWN} more lines differ" if len(wrong) > _SHOWN else ""
    above = {len(row) for row in rows[1:]} == {wrong[0][1]} and wrong[0][1] > len(rows[0])
    advice = " Remove what stands above the line with the names." if above else ""
    raise FormatError(
        f"The lines of '{path}' must have as many fields as its first, {len(rows[0])}: "
        f"{listed}{more}.{advice}"
    )


def check_named(path: Path, header: Sequence[str]) -> None:
    """Refuses a first line of measurements, which would be lost; whole numbers can be names."""
    try:
        has_fraction = any(not float(name).is_integer() for name in header)
    except (ValueError, OverflowError):
        return
    if has_fraction:
        raise FormatError(
            f"The first line of '{path}' must name the variables. It holds only numbers: "
            f"{', '.join(header[:_SHOWN])}. Write a line with names above it."
        )


def columns_of(path: Path, rows: list[list[str]], header: list[str]) -> dict[str, Any]:
    """The columns by name; one that is there twice with the same values is taken once.

    Raises:
        FormatError: a name stands for different columns, or a column but the first has none.
    """
    columns = list(zip(*rows[1:], strict=True))
    places: dict[str, list[int]] = {}
    for at, name in enumerate(header):
        places.setdefault(name, []).append(at)
    repeated = {name: at for name, at in places.items() if len(at) > 1 and name}
    differ = {n: at for n, at in repeated.items() if len({columns[i] for i in at}) > 1}
    if differ:
        listed = [f"'{n}' (columns {_counted(at)})" for n, at in sorted(differ.items())]
        raise FormatError(
            f"'{path}' has two columns of the same name and different values: "
            f"{', '.join(listed[:_SHOWN])}. Rename one of each."
        )
    unnamed = [at + 1 for at in places.get("", []) if at > 0]
    if unnamed:
        raise FormatError(f"Column {unnamed[0]} of '{path}' has no name in the header.")
    if repeated:
        told = ", ".join(f"'{name}'" for name in list(repeated)[:_SHOWN])
        _logger.warning("%d column(s) are there twice and taken once: %s.", len(repeated), told)
    return {name: columns[at[0]] for name, at in places.items()}


def _counted(places: list[int]) -> str:
    return " and ".join(str(at + 1) for at in places)


def take_index(columns: dict[str, Any], wanted: set[str]) -> tuple[str, ...]:
    """Takes out a column with the numbers or names of the rows, and says which.

    That is one named as pandas and R name it, or the first column if it holds a different text in
    every row, or counts the rows under a name such as `index`. Columns in `wanted` stay, and so do
    numbers as they are written for people (`1,200`, `5 %`): these are measurements.
    """
    found = [name for name in INDEX_NAMES if name in columns and name not in wanted]
    first = next(iter(columns), None)
    if first is not None and first not in (*found, *wanted) and is_index(first, columns[first]):
        found.append(first)
    notes = []
    for name in found:
        del columns[name]
        shown = f"'{name}'" if name else "without a name"
        notes.append(f"The column {shown} is taken for the index of the rows and left out.")
        _logger.warning("%s", notes[-1])
    return tuple(notes)


def is_index(name: str, values: Sequence[Any] | np.ndarray) -> bool:
    """Whether a column names the rows, or counts them."""
    if len(values) < 3:  # two rows are counted by any two numbers
        return False
    texts = [str(value).strip() for value in values]
    if not any(map(_is_numeric, texts)):
        return len(set(texts)) == len(texts) and not all(map(_OTHERWISE.fullmatch, texts))
    word = "".join(letter for letter in name.casefold() if letter.isalpha())
    counted = ([str(start + i) for i in range(len(texts))] for start in (0, 1))
    return word in _INDEX_WORDS and texts in list(counted)


def _is_numeric(text: str) -> bool:
    try:
        _float(text)
    except ValueError:
        return text.lower() in MISSING_TEXTS or text.lower() in _TRUTH
    return True


def _float(text: str) -> float:
    """A number; in Python `1_2` is one, too, in a table it is a name."""
    if "_" in text:
        raise ValueError(text)
    return float(text)


def as_matrix(columns: dict[str, Any]) -> VariableSamples:
    """The columns as numbers; every column that holds something else is named."""
    parsed: list[np.ndarray] = []
    wrong: list[str] = []
    for name, values in columns.items():
        try:
            parsed.append(as_numbers(name, values))
        except InvalidInputError as error:
            wrong.append(str(error))
    if wrong:
        more = f" So do {len(wrong) - _SHOWN} more columns." if len(wrong) > _SHOWN else ""
        raise InvalidInputError(f"{' '.join(wrong[:_SHOWN])}{more} {_advice(wrong)}")
    whole = _matrix_of(parsed)
    return np.stack(parsed, axis=1) if whole is None else whole


def _advice(wrong: Sequence[str]) -> str:
    """What can be done about columns that hold something else than numbers, by what is said."""
    said = [error.rpartition(" Row ")[2].partition(" is ") for error in wrong]
    if any(_OTHERWISE.fullmatch(value.split("'.")[0].strip("'. ")) for _, _, value in said):
        return "Write numbers as 1177.1: a decimal point, nothing between thousands, no units."
    rows = {row for row, _, _ in said}
    if len(wrong) >= _MANY and len(rows) == 1:
        return f"Row {rows.pop()} holds texts in all of them: variables must be columns, not rows."
    return (
        "Name what is not a variable with --target, --context or --ignore (arguments of the same "
        "names in Python)."
    )


def _matrix_of(columns: list[np.ndarray]) -> VariableSamples | None:
    """The matrix whose neighbouring columns these are, without a copy; None if they are not."""
    base = columns[0].base
    if not isinstance(base, np.ndarray) or base.ndim != 2 or not base.flags.c_contiguous:
        return None
    size, start = base.itemsize, columns[0].ctypes.data - base.ctypes.data
    same = all(
        column.base is base
        and len(column) == len(base)
        and column.ctypes.data - base.ctypes.data == start + at * size
        for at, column in enumerate(columns)
    )
    first = start // size
    return base[:, first : first + len(columns)] if same else None


def as_numbers(name: str, values: Sequence[Any] | np.ndarray) -> Float[np.ndarray, " samples"]:
    """The values of a column as float64, missing ones as NaN.

    Raises:
        InvalidInputError: with the first value that is no real number.
    """
    try:
        array = np.asarray(values)
        is_plain = array.dtype.kind in "fiub" or not any("_" in str(value) for value in values)
        if array.ndim == 1 and array.dtype.kind in "fiubUO" and is_plain:
            return array.astype(np.float64, copy=False)
    except (ValueError, TypeError, OverflowError):
        pass
    numbers = [_number(value) for value in values]
    odd = [row for row, number in enumerate(numbers) if number is None]
    if odd:
        raise InvalidInputError(
            f"Column '{name}' must hold numbers. Row {odd[0]} is '{str(values[odd[0]])[:60]}'."
            f"{_if_missing(len(odd), len(numbers))}"
        )
    return np.array(numbers, dtype=np.float64)


def _if_missing(n_odd: int, n_rows: int) -> str:
    """What to do about a few cells that hold no number."""
    if n_odd > FEW_ODD * n_rows:
        return ""
    cells = "that cell" if n_odd == 1 else f"these {n_odd:,} cells"
    return f" If the value is missing, leave {cells} empty."


def _number(value: Any) -> float | None:
    """The number in a cell, NaN where it is missing; None if it holds something else."""
    text = "nan" if value is None else str(value).strip().lower()
    try:
        if not isinstance(value, complex | np.ndarray | list | dict):
            return _float("nan" if text in MISSING_TEXTS else _TRUTH.get(text, text))
    except (ValueError, OverflowError):
        pass
    return None
