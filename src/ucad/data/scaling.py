"""`Scaling`: from the user's units to standardised ones, column by column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ucad._types import VariableSamples

__all__ = ["Scaling", "spread_of"]

_VALUES_AT_ONCE = 2**24
"""Values that are held in double precision at a time: 128 MiB."""


def spread_of(x: VariableSamples) -> Float[np.ndarray, " variables"]:
    """The standard deviation of every variable, in double precision.

    >>> spread_of(np.array([[1.0, 2.0], [3.0, 2.0]], dtype=np.float32))
    array([1., 0.])
    """
    some = [x[:, columns].std(axis=0, dtype=np.float64) for columns in _blocks(x)]
    return np.concatenate(some) if some else np.zeros(0)


def _blocks(x: VariableSamples) -> Iterator[slice]:
    size = max(_VALUES_AT_ONCE // max(len(x), 1), 1)
    return (slice(start, start + size) for start in range(0, x.shape[1], size))


class Scaling(NamedTuple):
    """The affine map from the user's units to standardised ones: x ↦ (x − mean) / scale."""

    mean: Float[np.ndarray, " variables"]
    scale: Float[np.ndarray, " variables"]

    @classmethod
    def of(cls, x: VariableSamples) -> Scaling:
        """The map to mean 0 and variance 1; a constant column is only centred."""
        scale = spread_of(x)
        return cls(x.mean(axis=0, dtype=np.float64), np.where(scale > 0, scale, 1.0))

    def applied_to(self, x: VariableSamples) -> VariableSamples:
        """(x − mean) / scale in the precision of x, variable by variable.

        Every variable lies in one piece: a fit looks at a few columns at a time, and rows that are
        one behind the other cost ten times as much.
        """
        scaled = np.empty(x.shape, dtype=x.dtype if x.dtype.kind == "f" else np.float64, order="F")
        for some in _blocks(x):
            scaled[:, some] = (x[:, some] - self.mean[some]) / self.scale[some]
        scaled.flags.writeable = False
        return scaled
