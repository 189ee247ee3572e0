"""Masked second moments: what linear mechanisms need to know of the data, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ucad._types import WhichIntervened

__all__ = ["MaskedMoments", "Moment"]


class Moment(NamedTuple):
    """The second moments seen by one target, and from how many samples.

    Attributes:
        matrix: S_j, the mean of φ(x) φ(x)ᵀ over the samples in which j is not clamped.
        n_samples: N_j, the number of those samples.
    """

    matrix: Float[np.ndarray, "features features"]
    n_samples: int


@dataclass(frozen=True)
class MaskedMoments:
    r"""Second moments of features of x over the samples in which a target is not clamped.

    S_j = 1/N_j · Σ_{s : j not clamped in s} φ(x_s) φ(x_s)ᵀ

    Made as the total minus the samples that clamp j, one target at a time, so no array of
    n × n × n is ever formed: O(N d²) once and O(N^c_j d²) for target j, where N^c_j is the number
    of samples that clamp j and d the number of features.

    >>> x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> clamped = np.array([[False, False], [True, False], [False, False]])
    >>> MaskedMoments(x, clamped).of(0).matrix
    array([[13., 16.],
           [16., 20.]])

    Attributes:
        features: φ(x), one row a sample; x itself, or functions of it.
        is_intervened: which variables are clamped in which sample.
    """

    features: Float[np.ndarray, "samples features"]
    is_intervened: WhichIntervened

    def __post_init__(self) -> None:
        object.__setattr__(self, "_total", self.features.T @ self.features)

    def of(self, target: int) -> Moment:
        """Returns S_j and N_j of one target."""
        clamped = self.is_intervened[:, target]
        count = int(len(clamped) - clamped.sum())
        left_out = self.features[clamped]
        total: Float[np.ndarray, "features features"] = self.__dict__["_total"]
        return Moment((total - left_out.T @ left_out) / max(count, 1), count)

    def __iter__(self) -> Iterator[Moment]:
        return (self.of(target) for target in range(self.is_intervened.shape[1]))

    def __len__(self) -> int:
        return int(self.is_intervened.shape[1])
