"""Text tables as spreadsheets write them: other separators, and commas for decimal points."""

from __future__ import annotations

import csv
import io
import itertools
import logging
import re
from collections.abc import Sequence
from pathlib import Path

from ucad.errors import FormatError

__all__ = ["rows_of", "separator_of"]

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_OTHER_SEPARATORS = {"|": "'|'", " ": "spaces", "^": "'^'", "~": "'~'"}
_SAID = re.compile(r'\A"?sep=[,;\t]"?(\r\n|\r|\n)', re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*")

_logger = logging.getLogger(__name__)


def rows_of(text: str, path: Path, *, guess: bool) -> list[list[str]]:
    """The cells of a table, line by line, without empty lines.

    Commas separate the cells of a `.csv`, tabs those of any other file. If the header has one cell
    like that and several with another separator, that one is taken, and it is said. Where commas
    separate nothing and no number has a point, they are decimal points. A first line `sep=;`, with
    which Excel names the separator, and last columns with nothing in them are left out.

    Args:
        text: the file.
        path: where it came from; its ending says what separates cells.
        guess: whether another separator may be taken; not for files of our own.
    """
    usual = "," if path.suffix.lower() == ".csv" else "\t"
    if not guess:
        return _cells(text, path, usual)
    if "\0" in text:
        raise FormatError(
            f"'{path}' holds null characters: it is no text, or text in another encoding. Save it "
            f"as UTF-8."
        )
    text = _SAID.sub("", text, count=1)
    separator = separator_of(text, usual)
    rows = _without_empty_columns(_cells(text, path, separator))
    _check_separated(path, rows)
    if separator != usual:
        _logger.warning("The cells of '%s' are separated by %s.", path, _SEPARATORS[separator])
    if separator != "," and "," in text and _has_decimal_commas(rows):
        _logger.warning("The numbers of '%s' have a comma where others have a point.", path)
        rows = [rows[0], *(list(map(_with_point, row)) for row in rows[1:])]
    return rows


def _cells(text: str, path: Path, separator: str) -> list[list[str]]:
    """The cells of all lines but the empty ones; where quotes stand oddly, as well as can be.

    Raises:
        FormatError: a quotation mark is never closed, so that lines after it would be lost.
    """
    file = io.StringIO(text, newline="")
    try:
        return [row for row in csv.reader(file, delimiter=separator, strict=True) if row]
    except csv.Error as error:
        if "end of data" in str(error):
            raise FormatError(
                f"'{path}' has a quotation mark that is never closed: the file is cut off, or a "
                f"mark within a cell is not doubled."
            ) from error
    file.seek(0)
    return [row for row in csv.reader(file, delimiter=separator) if row]


def _check_separated(path: Path, rows: list[list[str]]) -> None:
    """Refuses a table whose columns are separated by what is not taken for a separator."""
    for mark, called in _OTHER_SEPARATORS.items():
        widths = {len(row[0].split(mark)) if len(row) == 1 else 0 for row in rows}
        if len(widths) == 1 and max(widths) > 1:
            raise FormatError(
                f"The columns of '{path}' seem to be separated by {called}. Save it with commas, "
                f"semicolons or tabs between them."
            )


def _first_cells(text: str, separator: str) -> list[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        return list(itertools.islice(filter(None, reader), _LINES))
    except csv.Error:  # with this separator it is no table
        return []


def separator_of(text: str, usual: str) -> str:
    """The first separator that gives the first lines the same number of cells, and over one."""
    first = text.lstrip("\r\n")[:_BEGINNING]
    rows = {one: _first_cells(first, one) for one in dict.fromkeys((usual, *_SEPARATORS))}
    fits = [one for one in rows if _is_even(rows[one])]
    if fits:
        return fits[0]
    n_names = {one: len(found[0]) if found else 0 for one, found in rows.items()}
    return usual if n_names[usual] > 1 else max(n_names, key=lambda one: n_names[one])


def _is_even(rows: Sequence[Sequence[str]]) -> bool:
    widths = {len(row) for row in rows}
    return len(widths) == 1 and widths != {1}


def _without_empty_columns(rows: list[list[str]]) -> list[list[str]]:
    """The rows without last columns that have no name and no value, as after a trailing comma."""
    while rows and len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows):
        if any(row[-1].strip() for row in rows):
            break
        rows = [row[:-1] for row in rows]
    return rows


def _has_decimal_commas(rows: Sequence[Sequence[str]]) -> bool:
    """Whether some cells are numbers with a comma, and none is one with a point."""
    if any("." in cell for row in rows[1:] for cell in row):
        return False
    return any(_DECIMAL_COMMA.fullmatch(cell) for row in rows[1:] for cell in row)


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell


_BEGINNING = 2**23
"""Characters in which the first lines are looked for: the names of 100,000 variables and a line."""

_LINES = 3
"""That must have as many cells as each other: the names and two samples."""
