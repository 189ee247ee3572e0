"""The table of a sweep: one JSON line a fit, appended as it finishes, never lost or half-read."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ucad.errors import FormatError, InvalidInputError

__all__ = ["ResultTable", "Row", "Task", "drop_failed", "read_rows", "row_key"]

Task: TypeAlias = Mapping[str, Any]
Row: TypeAlias = dict[str, Any]
"""`function` and `task` say what was done; `result` or `error` what came out, the same on every
machine; `about` what depends on where and when: seconds, host, attempts."""


def row_key(function: str, task: Task) -> str:
    """The canonical name of a task: equal tasks have equal keys, whatever their order.

    >>> row_key("m:f", {"b": 1, "a": "x"})
    'm:f {"a": "x", "b": 1}'
    """
    return f"{function} {json.dumps(dict(task), sort_keys=True, ensure_ascii=False)}"


def read_rows(path: Path) -> dict[str, Row]:
    """The rows of a table by key; the last one counts, and a torn last line does not."""
    return _parse(path.read_bytes(), path)[0] if path.exists() else {}


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
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, Row] = {}

    @contextlib.contextmanager
    def opened(self) -> Iterator[ResultTable]:
        """Locks the table, cuts off a torn last line, and sorts it by key when all is done."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(self.path):
            content = self.path.read_bytes() if self.path.exists() else b""
            self.rows, good = _parse(content, self.path)
            if good < len(content):
                os.truncate(self.path, good)
            try:
                yield self
            finally:
                self._sort()

    def append(self, row: Row) -> None:
        """Adds a row; when this returns, it is on the disk."""
        line = json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
        with self.path.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        self.rows[row_key(row["function"], row["task"])] = row

    def _sort(self) -> None:
        """Writes the rows in the order of their keys beside the table and moves them into place."""
        self.rows = dict(sorted(self.rows.items()))
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows.values())
        part = self.path.with_name(f".{self.path.name}.part")
        with part.open("wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.path)


def _parse(content: bytes, path: Path) -> tuple[dict[str, Row], int]:
    """The rows, and how many bytes of whole lines there are."""
    rows: dict[str, Row] = {}
    good = 0
    lines = content.splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            key = row_key(row["function"], row["task"])
        except (ValueError, TypeError, KeyError) as error:
            if number == len(lines):
                break
            raise FormatError(
                f"Line {number} of '{path}' is no row of a sweep: {error}."
            ) from error
        if not line.endswith(b"\n"):
            break
        rows[key] = row
        good += len(line)
    return rows, good


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
