"""The exceptions of ucad: each is a `UcadError` and a built-in kind."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "FactorisationError",
    "FormatError",
    "InvalidInputError",
    "MissingDependencyError",
    "SimulationError",
    "UcadError",
    "did_you_mean",
]


class UcadError(Exception):
    """Anything ucad refuses to do, with the reason as its text."""


class InvalidInputError(UcadError, ValueError):
    """An argument or a data set that cannot be used."""


class FormatError(UcadError, ValueError):
    """A file that cannot be read as what it claims to be."""


class FactorisationError(UcadError, ValueError):
    """A Boolean matrix that no admissible pair (Q, R) produces."""


class SimulationError(UcadError, RuntimeError):
    """A random graph that could not be drawn under the conditions asked for."""


class MissingDependencyError(UcadError, ImportError):
    """An optional package that is needed and not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed. "
            f"Install it with: pip install 'ucad[{extra}]'"
        )


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Returns `" Did you mean 'x'?"` for the closest choice, or an empty string.

    >>> did_you_mean("perason", ["pearson", "spearman"])
    " Did you mean 'pearson'?"
    """
    close = difflib.get_close_matches(name, list(choices), n=1)
    return f" Did you mean '{close[0]}'?" if close else ""
