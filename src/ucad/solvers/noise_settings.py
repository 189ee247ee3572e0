"""The noise of readings, in the units of the data that a solver gets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ucad.data import InterventionalData

__all__ = ["noise_in_units_of"]


def noise_in_units_of(
    data: InterventionalData, noise: Sequence[float] | None
) -> Float[np.ndarray, " variables"] | None:
    """The variance of the noise of readings, after the data were standardised."""
    if noise is None:
        return None
    scale = np.ones(1) if data.scaling is None else data.scaling.scale
    changed: Float[np.ndarray, " variables"] = np.asarray(noise) / scale**2
    return changed
