"""`Scaling`: from the user's units to standardised ones, column by column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ucad._types import VariableSamples

__all__ = ["Scaling"]

_COLUMNS_AT_ONCE = 64
"""Variables standardised at a time: half a gigabyte at a million samples in double precision."""


class Scaling(NamedTuple):
    """The affine map from the user's units to standardised ones: x ↦ (x − mean) / scale."""

    mean: Float[np.ndarray, " variables"]
    scale: Float[np.ndarray, " variables"]

    @classmethod
    def of(cls, x: VariableSamples) -> Scaling:
        """The map to mean 0 and variance 1; a constant column is only centred."""
        scale = x.std(axis=0, dtype=np.float64)
        return cls(x.mean(axis=0, dtype=np.float64), np.where(scale > 0, scale, 1.0))

    def applied_to(self, x: VariableSamples) -> VariableSamples:
        """(x − mean) / scale in the precision of x, variable by variable.

        Every variable lies in one piece: a fit looks at a few columns at a time, and rows that are
        one behind the other cost ten times as much.
        """
        scaled = np.empty(x.shape, dtype=x.dtype if x.dtype.kind == "f" else np.float64, order="F")
        for start in range(0, x.shape[1], _COLUMNS_AT_ONCE):
            some = slice(start, start + _COLUMNS_AT_ONCE)
            scaled[:, some] = (x[:, some] - self.mean[some]) / self.scale[some]
        scaled.flags.writeable = False
        return scaled
