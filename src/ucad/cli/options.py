"""Options that several commands have, with what they may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from cyclopts import Parameter, Token
from cyclopts.validators import Number

from ucad.errors import InvalidInputError

__all__ = ["MAX_SEED", "Count", "Seed", "Whole", "WholeOrWord"]

MAX_SEED = 2**32 - 1
"""The largest seed that every generator of random numbers in use takes."""

MAX_COUNT = 10**9
"""More samples, pairs or rows than this are a slip of the keyboard."""


def whole_number(_type: object, tokens: Sequence[Token]) -> int | str:
    """The number as it was written: `1.5` is refused, and not rounded."""
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        if any(letter.isdigit() for letter in text):
            raise InvalidInputError(f"A whole number is wanted. Got '{text}' instead.") from None
        raise


def whole_number_or_word(kind: object, tokens: Sequence[Token]) -> int | str:
    """The same, or a word such as `auto`, which is looked at later."""
    try:
        return whole_number(kind, tokens)
    except InvalidInputError:
        raise
    except ValueError:
        return tokens[0].value


Seed: TypeAlias = Annotated[
    int, Parameter(converter=whole_number, validator=Number(gte=0, lte=MAX_SEED))
]
Count: TypeAlias = Annotated[
    int, Parameter(converter=whole_number, validator=Number(gte=1, lte=MAX_COUNT))
]
Whole: TypeAlias = Annotated[int, Parameter(converter=whole_number)]
WholeOrWord: TypeAlias = Annotated[int | str, Parameter(converter=whole_number_or_word)]
