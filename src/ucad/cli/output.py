"""What commands print: rendered by rich, written by us, so that a closed pipe stays our affair."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

from rich.console import Console, RenderableType

__all__ = ["PatientOutput", "patient_output", "say", "show"]

_PIPED_WIDTH = 100
"""Characters per line where there is no terminal: that of our source and documentation."""

_TEXT_WIDTH = 79
"""Characters per line of sentences: that of the certificate, for a terminal of 80."""


class PatientOutput(io.TextIOBase):
    """A stream that never fails: what it cannot show is left out, and why is remembered.

    A closed pipe or a full disk behind the terminal must not end a fit that has hours of work in
    it. A character that the terminal does not know becomes a question mark.

    Attributes:
        stream: where the text goes; None if it was closed from the start.
        failure: the first error.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.failure: OSError | ValueError | None = None
        if stream is None:
            self.failure = OSError(errno.EBADF, os.strerror(errno.EBADF))

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the stream."""
        return str(getattr(self.stream, "encoding", None) or "utf-8")

    def write(self, text: str) -> int:
        """Writes what can be written."""
        known = text.encode(self.encoding, "replace").decode(self.encoding)
        if self.failure is None and self.stream is not None:
            try:
                self.stream.write(known)
            except (OSError, ValueError) as error:
                self._drop(error)
        return len(text)

    def flush(self) -> None:
        """Writes what was held back."""
        if self.failure is None and self.stream is not None:
            try:
                self.stream.flush()
            except (OSError, ValueError) as error:
                self._drop(error)

    def isatty(self) -> bool:
        """Whether somebody is looking."""
        return self.failure is None and bool(self.stream.isatty())

    def fileno(self) -> int:
        """That of the stream."""
        if self.stream is None:
            raise io.UnsupportedOperation("fileno")
        return int(self.stream.fileno())

    def _drop(self, error: OSError | ValueError) -> None:
        """Keeps the interpreter from failing again, at exit, over what it still holds."""
        self.failure = error
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())


@contextlib.contextmanager
def patient_output() -> Iterator[PatientOutput]:
    """Makes standard output and error patient; yields the first."""
    for descriptor in (0, 1, 2):  # or else the next file to be opened would become the output
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    before = sys.stdout, sys.stderr
    output = PatientOutput(sys.stdout)
    sys.stdout, sys.stderr = output, PatientOutput(sys.stderr)
    try:
        yield output
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before


def show(*renderables: RenderableType) -> None:
    """Prints tables and text, in colour on a terminal and plainly elsewhere."""
    terminal = sys.stdout.isatty()
    console = Console(
        file=io.StringIO(),
        force_terminal=terminal,
        width=None if terminal else _PIPED_WIDTH,
        markup=False,  # a name such as [/b] or :bug: is a name
        emoji=False,
    )
    for renderable in renderables:
        console.print(renderable)
    text = console.file
    assert isinstance(text, io.StringIO)
    print(text.getvalue(), end="")


def say(*texts: str) -> None:
    """Prints sentences in lines that fit a terminal; an empty text is an empty line."""
    for text in texts:
        indent = "  " * text.startswith("· ")
        print(
            textwrap.fill(
                text,
                _TEXT_WIDTH,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
