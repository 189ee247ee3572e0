"""What commands print: rendered by rich, written by us, so that a closed pipe stays our affair."""

from __future__ import annotations

import io
import sys

from rich.console import Console, RenderableType

__all__ = ["show"]

_PIPED_WIDTH = 100


def show(*renderables: RenderableType) -> None:
    """Prints tables and text, in colour on a terminal and plainly elsewhere."""
    terminal = sys.stdout.isatty()
    console = Console(
        file=io.StringIO(),
        force_terminal=terminal,
        width=None if terminal else _PIPED_WIDTH,
    )
    for renderable in renderables:
        console.print(renderable)
    text = console.file
    assert isinstance(text, io.StringIO)
    print(text.getvalue(), end="")
