"""Options that several commands have, with what they may be."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from cyclopts import Parameter
from cyclopts.validators import Number

__all__ = ["MAX_SEED", "Count", "Seed"]

MAX_SEED = 2**32 - 1
"""The largest seed that every generator of random numbers in use takes."""

MAX_COUNT = 10**9
"""More samples, pairs or rows than this are a slip of the keyboard."""

Seed: TypeAlias = Annotated[int, Parameter(validator=Number(gte=0, lte=MAX_SEED))]
Count: TypeAlias = Annotated[int, Parameter(validator=Number(gte=1, lte=MAX_COUNT))]
