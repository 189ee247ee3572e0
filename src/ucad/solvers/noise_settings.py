"""What a fit is told of noise: of readings, and the law of a variable given its factors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.parameters import one_of
from ucad.scm.noise import NOISES

__all__ = ["check_noise_family", "noise_in_units_of"]

AUTO = "auto"
"""Asks for the family that held-out samples prefer."""


def check_noise_family(name: str, solver: str) -> None:
    """Refuses a family that there is none of, or that the solver does not fit."""
    one_of(name, "noise", [AUTO, *(family.name for family in NOISES)])
    if name not in (AUTO, NOISES[0].name) and solver not in (AUTO, "search"):
        raise InvalidInputError(
            f"The solver '{solver}' fits normal noise only. Use 'search', or noise='gaussian'. "
            f"Got noise={name!r}."
        )


def noise_in_units_of(
    data: InterventionalData, noise: Sequence[float] | None
) -> Float[np.ndarray, " variables"] | None:
    """The variance of the noise of readings, after the data were standardised."""
    if noise is None:
        return None
    scale = np.ones(1) if data.scaling is None else data.scaling.scale
    changed: Float[np.ndarray, " variables"] = np.asarray(noise) / scale**2
    return changed
