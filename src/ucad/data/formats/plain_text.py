"""Large text tables, a block of lines at a time, through pyarrow's parser where it is installed."""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ucad.data.formats.cells import MISSING_TEXTS, as_numbers, is_index
from ucad.data.formats.dialect import separator_of
from ucad.errors import FormatError, InvalidInputError, MissingDependencyError
from ucad.files import MAX_TEXT_BYTES, check_regular

__all__ = ["PlainTable", "opened_plain"]

MIN_BYTES = 2**22
"""The size from which a table is read this way: below it the patient reader takes under a second,
about what importing pyarrow costs."""

BLOCK_BYTES = 2**24
"""What is parsed at a time. Blocks of 4, 16 and 64 MiB took the same time per line; a block and its
columns take about four times as much memory as its text."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BEGINNING = 2**23
"""Bytes in which the separator and the header are looked for, as in `dialect`."""


class _NotPlainError(Exception):
    """What is left to the patient reader, which explains it, or reads it after all."""


@dataclass(frozen=True)
class PlainTable:
    """A large text table without surprises: UTF-8, one line per sample, quotes only around cells.

    Attributes:
        path: of the file.
        separator: between cells.
        header: the cells of the first line.
        starts_at: the byte at which the second line starts.
        n_lines: line ends after the header, and one more for a last line without any.
    """

    path: Path
    separator: str
    header: tuple[str, ...]
    starts_at: int
    n_lines: int

    def columns(self, names: Sequence[str], text: set[str]) -> dict[str, Any] | None:
        """The columns by name: numbers as columns of one matrix, those in `text` as texts.

        The first column is text, too, where it is the index of the rows.

        Args:
            names: one per column.
            text: columns that are not variables.

        Returns:
            None if the table is not as plain as it seemed, and small enough for the other reader.

        Raises:
            FormatError: the same, and it is not.
        """
        if len(set(names)) != len(names) or not all(names[1:]):
            _check_small(self.path, "two columns have the same name, or one has none")
            return None
        try:
            return self._parsed(list(names), text | {names[0]}, names[0] not in text)
        except _NotPlainError as reason:
            _check_small(self.path, str(reason))
            return None

    def _parsed(self, names: list[str], text: set[str], first_is_open: bool) -> dict[str, Any]:
        slots = [name for name in names if name not in text or (name == names[0] and first_is_open)]
        x = np.empty((self.n_lines, len(slots)))
        texts: dict[str, list[str]] = {name: [] for name in names if name in text}
        at, parse = 0, _Parser(names, text, self.separator)
        for table in _ahead(parse, _blocks(self.path, self.starts_at)):
            if isinstance(table, _NotPlainError):
                raise _NotPlainError(f"counted from row {at} on: {table}")
            for slot, name in enumerate(slots):
                if name not in text:
                    x[at : at + table.num_rows, slot] = table.column(name).to_numpy()
            for name, values in texts.items():
                values += table.column(name).to_pylist()
            at += table.num_rows
        if at == 0:
            raise _NotPlainError("it has no samples")
        x.resize((at, len(slots)), refcheck=False)
        columns: dict[str, Any] = {name: texts.get(name) for name in names}
        if first_is_open and not is_index(names[0], texts[names[0]]):
            with contextlib.suppress(InvalidInputError):  # told with those of other columns
                x[:, 0] = as_numbers(names[0], texts[names[0]])
                columns[names[0]] = None
        for slot, name in enumerate(slots):
            columns[name] = x[:, slot] if columns[name] is None else columns[name]
        return columns


def opened_plain(path: Path, *, guess: bool) -> PlainTable | None:
    """A large text table, if it seems plain and pyarrow is there.

    Args:
        path: of the file; its ending says what separates cells.
        guess: whether another separator may be taken, as `dialect.rows_of` does.

    Raises:
        FormatError: it is neither plain nor small enough for the patient reader.
        MissingDependencyError: pyarrow is not there, and it is too large to do without.
    """
    check_regular(path)
    size = path.stat().st_size
    if size < MIN_BYTES:
        return None
    if not _has_pyarrow():
        if size > MAX_TEXT_BYTES:
            what = f"Reading a text table of over {MAX_TEXT_BYTES} bytes"
            raise MissingDependencyError("pyarrow", "parquet", what)
        return None
    table = _opened(path, guess=guess)
    if table is None:
        _check_small(path, "it is not plain UTF-8 with a header and one line per sample")
    return table


def _check_small(path: Path, reason: str) -> None:
    """Refuses what is too large for the patient reader."""
    if path.stat().st_size > MAX_TEXT_BYTES:
        raise FormatError(
            f"'{path}' is a text table of over {MAX_TEXT_BYTES} bytes, and {reason}. Correct it, "
            f"or save the table as .parquet."
        )


def _opened(path: Path, *, guess: bool) -> PlainTable | None:
    with path.open("rb") as file:
        beginning = file.read(_BEGINNING)
    usual = "," if path.suffix.lower() == ".csv" else "\t"
    skipped = len(_BYTE_ORDER_MARK) if beginning.startswith(_BYTE_ORDER_MARK) else 0
    end = beginning.find(b"\n", skipped)
    try:
        text = beginning[skipped:].decode("utf-8", "ignore")
        first = beginning[skipped:end].decode("utf-8")
        separator = separator_of(text, usual) if guess else usual
        header = next(csv.reader([first.rstrip("\r")], delimiter=separator, strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        return None
    is_plain = end > skipped and header and header[-1].strip() and "\r" not in first.rstrip("\r")
    if not is_plain or first.lower().lstrip('"').startswith("sep="):
        return None
    n_lines = _n_lines(path, end + 1, separator)
    return None if n_lines is None else PlainTable(path, separator, tuple(header), end + 1, n_lines)


def _n_lines(path: Path, starts_at: int, separator: str) -> int | None:
    """How many lines there are; None if some byte leaves room for doubt."""
    n_lines = 1
    cell = re.compile(
        rb'(?:(?<=[\n%b])|\A)"[^"\r\n]*"(?=[%b\r\n]|\Z)' % ((separator.encode(),) * 2)
    )
    for block in _blocks(path, starts_at):
        if b"\0" in block or (b"\r" in block and block.count(b"\r") != block.count(b"\r\n")):
            return None
        if separator != "," and b"," in block:  # decimal points, perhaps
            return None
        if b'"' in block and block.count(b'"') != 2 * len(cell.findall(block)):
            return None
        n_lines += block.count(b"\n")
    return n_lines


def _blocks(path: Path, starts_at: int) -> Iterator[bytes]:
    """The file from there on, in blocks of whole lines."""
    with path.open("rb") as file:
        file.seek(starts_at)
        while block := file.read(BLOCK_BYTES) + file.readline():
            yield block


def _ahead(parse: _Parser, blocks: Iterator[bytes]) -> Iterator[Any]:
    """What is parsed of every block; the next is parsed while the last one is made use of."""
    with ThreadPoolExecutor(1) as pool:
        before = None
        for block in blocks:
            following = pool.submit(parse, block)
            if before is not None:
                yield before.result()
            before = following
        if before is not None:
            yield before.result()


class _Parser:
    """From lines to columns: numbers in double precision, missing ones NaN."""

    def __init__(self, names: list[str], text: set[str], separator: str) -> None:
        import pyarrow
        from pyarrow import csv as arrow_csv

        self._pa, self._csv, self._names, self._text = pyarrow, arrow_csv, names, text
        kinds = {name: pyarrow.string() if name in text else pyarrow.float64() for name in names}
        self._numbers = arrow_csv.ConvertOptions(
            column_types=kinds, null_values=_spellings(), strings_can_be_null=False
        )
        self._texts = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pyarrow.string()), strings_can_be_null=False
        )
        self._format = arrow_csv.ParseOptions(delimiter=separator)

    def __call__(self, block: bytes) -> Any:
        """The table that a block of lines holds, or why it is not plain."""
        try:
            return self._read(block, self._numbers)
        except self._pa.ArrowInvalid as error:
            if "conversion error" not in str(error):
                return _NotPlainError(" ".join(str(error).split()))
        return self._patiently(block)

    def _read(self, block: bytes, how: Any) -> Any:
        options = self._csv.ReadOptions(column_names=self._names, block_size=len(block) + 1)
        source = self._pa.BufferReader(block)
        return self._csv.read_csv(source, options, self._format, how)

    def _patiently(self, block: bytes) -> Any:
        """The same by Python's rules for numbers, cell by cell."""
        try:
            table = self._read(block, self._texts)
            columns = {name: table.column(name) for name in self._names}
            for name in set(self._names) - self._text:
                columns[name] = self._pa.array(as_numbers(name, columns[name].to_pylist()))
        except (self._pa.ArrowInvalid, InvalidInputError) as error:
            return _NotPlainError(" ".join(str(error).split()))
        return self._pa.table(columns)


def _spellings() -> list[str]:
    """How missing values are mostly written; others are found cell by cell."""
    changes = (str, str.upper, str.capitalize)
    return sorted({change(text) for text in MISSING_TEXTS for change in changes} | {"NaN"})


def _has_pyarrow() -> bool:
    try:
        import pyarrow.csv  # noqa: F401
    except ImportError:
        return False
    return True
