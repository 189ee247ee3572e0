"""The exceptions of ucad: each is a `UcadError` and a built-in kind."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = [
    "FactorisationError",
    "FormatError",
    "InvalidInputError",
    "MissingDependencyError",
    "SimulationError",
    "UcadError",
    "all_at_once",
    "check_setting",
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


@contextlib.contextmanager
def all_at_once() -> Iterator[Callable[..., None]]:
    """Runs several checks and raises one error that tells what all of them found.

    >>> def refuse(what):
    ...     raise InvalidInputError(f"{what} is wrong.")
    >>> with all_at_once() as check:
    ...     check(refuse, "This")
    ...     check(refuse, "That")
    Traceback (most recent call last):
    ucad.errors.InvalidInputError: 2 problems: (1) This is wrong. (2) That is wrong.
    """
    found: list[UcadError] = []

    def check(function: Callable[..., object], *arguments: Any) -> None:
        try:
            function(*arguments)
        except UcadError as error:
            found.append(error)

    yield check
    if len(found) == 1:
        raise found[0]
    if found:
        listed = " ".join(f"({number}) {error}" for number, error in enumerate(found, start=1))
        raise InvalidInputError(f"{len(found)} problems: {listed}")


def check_setting(settings: object, name: str, holds: bool, wanted: str) -> None:
    """Refuses a value of a settings object that makes no sense.

    >>> import types
    >>> check_setting(types.SimpleNamespace(k=1), "k", False, "even")
    Traceback (most recent call last):
    ucad.errors.InvalidInputError: The 'k' setting of SimpleNamespace must be even. Got 1 instead.
    """
    if not holds:
        raise InvalidInputError(
            f"The '{name}' setting of {type(settings).__name__} must be {wanted}. "
            f"Got {getattr(settings, name)} instead."
        )


_SHORTEST_PART = 3
"""Letters from which on a name that is part of another one may be meant by it."""


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Returns `" Did you mean 'x'?"` for the closest choice, or an empty string.

    Where none is close, the first that contains the name will do.

    >>> did_you_mean("perason", ["pearson", "spearman"]), did_you_mean("nt", ["NT", "STAT1"])
    (" Did you mean 'pearson'?", " Did you mean 'NT'?")
    >>> did_you_mean("clamped", ["time", "clamped by hand"])
    " Did you mean 'clamped by hand'?"
    """
    spelt = {choice.casefold(): choice for choice in choices}
    folded = str(name).casefold()
    close = difflib.get_close_matches(folded, spelt, n=1)
    if not close and len(folded) >= _SHORTEST_PART:
        close = [choice for choice in spelt if folded in choice][:1]
    return f" Did you mean '{spelt[close[0]]}'?" if close else ""
