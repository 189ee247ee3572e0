"""The command line."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Runs the command line."""
