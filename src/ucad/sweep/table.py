"""The table of a sweep: one JSON line a fit, appended as it finishes, never lost or half-read."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, TypeAlias

from ucad.errors import FormatError, InvalidInputError
from ucad.files import check_regular, parse_json, recover, replacing, resolved
from ucad.schema import check_shape

__all__ = ["ResultTable", "Row", "Task", "drop_failed", "read_rows", "row_key"]

Task: TypeAlias = Mapping[str, Any]
Row: TypeAlias = dict[str, Any]
"""`function` and `task` say what was done; `result` or `error` what came out, the same on every
machine; `about` what depends on where and when: seconds, host, attempts."""

_ROW = {
    "function": str,
    "task": {str: object},
    "result": ({str: object}, NoneType),
    "error": (str, NoneType),
    "about": {str: object},
}
_BEGINNING = b'{"function": "'
"""How every row begins; a line that does not was not begun by us."""


def row_key(function: str, task: Task) -> str:
    """The canonical name of a task: equal tasks have equal keys, whatever their order.

    >>> row_key("m:f", {"b": 1, "a": "x"})
    'm:f {"a": "x", "b": 1}'
    """
    return f"{function} {json.dumps(dict(task), sort_keys=True, ensure_ascii=False)}"


def read_rows(path: Path) -> dict[str, Row]:
    """The rows of a table by key; the last one counts, and a torn last line does not.

    Raises:
        FormatError: the file is no table of a sweep.
    """
    return _parse(_content(path), path)[0]


def drop_failed(path: Path) -> int:
    """Takes the rows that hold an error out of a table, to be tried again; returns how many."""
    with ResultTable(path).opened() as table:
        failed = [key for key, row in table.rows.items() if row["error"] is not None]
        for key in failed:
            del table.rows[key]
    return len(failed)


class ResultTable:
    """A table that one sweep at a time may write.

    Attributes:
        path: the file, JSON lines.
        rows: what it holds, by key.
        was_there: whether the file was there before.
    """

    def __init__(self, path: Path) -> None:
        self.path = resolved(path)
        self.rows: dict[str, Row] = {}
        self.was_there = self.path.exists()

    @contextlib.contextmanager
    def opened(self) -> Iterator[ResultTable]:
        """Locks the table, cuts off a torn last line, and sorts it by key when all is done.

        A file that is not a table of a sweep is refused and left as it is.
        """
        read_rows(self.path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(self.path):
            recover(self.path)
            content = _content(self.path)
            self.rows, good = _parse(content, self.path)
            if good < len(content):
                os.truncate(self.path, good)
            try:
                yield self
            finally:
                self._sort()

    def append(self, row: Row) -> None:
        """Adds a row; when this returns, it is on the disk."""
        line = (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n").encode()
        with self.path.open("ab") as file:
            start = file.tell()
            try:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            except BaseException as error:  # a full disk, or a signal: no half line may stay
                with contextlib.suppress(OSError):
                    os.truncate(self.path, start)
                if isinstance(error, OSError):
                    error.filename = str(self.path)
                raise
        self.rows[row_key(row["function"], row["task"])] = row

    def _sort(self) -> None:
        """Writes the rows in the order of their keys, in one step."""
        if not self.rows and not self.was_there:
            self.path.unlink(missing_ok=True)
            return
        self.rows = dict(sorted(self.rows.items()))
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows.values())
        if text.encode() == _content(self.path) and self.path.exists():
            return
        with replacing(self.path) as beside:
            beside.write_bytes(text.encode())


def _content(path: Path) -> bytes:
    if not path.exists():
        return b""
    check_regular(path)
    return path.read_bytes()


def _parse(content: bytes, path: Path) -> tuple[dict[str, Row], int]:
    """The rows, and how many bytes of whole lines there are.

    Only a last line that lacks its end and begins as our rows do is taken for one that was torn.
    """
    rows: dict[str, Row] = {}
    good = 0
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        if not line.endswith(b"\n") and _is_torn(line, first=not rows):
            break
        try:
            row = parse_json(line)
            check_shape(row, _ROW, "it")
        except ValueError as error:
            raise FormatError(
                f"Line {number} of '{path}' is no row of a sweep: {str(error).rstrip('.')}."
            ) from error
        if not line.endswith(b"\n"):
            break
        rows[row_key(row["function"], row["task"])] = row
        good += len(line)
    return rows, good


def _is_torn(line: bytes, *, first: bool) -> bool:
    """Whether a line is the beginning of a row of ours, and no whole JSON."""
    if not line.startswith(_BEGINNING):
        return not first and _BEGINNING.startswith(line)
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds a lock that the system lets go of even if we are killed."""
    import fcntl

    lock = path.with_name(f".{path.name}.lock")
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InvalidInputError(
                f"Another sweep is writing '{path}'. Wait for it, or choose another table."
            ) from error
        yield
