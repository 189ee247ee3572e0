"""Masked second moments: what linear mechanisms need to know of the data, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import WhichIntervened

__all__ = ["MaskedMoments", "Moment", "RowsByVariable", "product"]

BLOCK = 2048
"""Rows that are held in double precision at a time: 160 MB at 10,000 columns."""


def product(
    left: Float[np.ndarray, "samples rows"], right: Float[np.ndarray, "samples columns"]
) -> Float[np.ndarray, "rows columns"]:
    """Leftᵀ right in double precision, in blocks of samples where they come in another.

    Sums in single precision would be off by 1e-6, which at a million samples of a noiseless
    variable is worth more than an edge.

    >>> product(np.ones((3, 1), dtype=np.float32), np.ones((3, 2)))
    array([[3., 3.]])
    """
    if left.dtype == right.dtype == np.float64:
        return np.asarray(left.T @ right)
    total = np.zeros((left.shape[1], right.shape[1]))
    for start in range(0, len(left), BLOCK):
        rows = slice(start, start + BLOCK)
        total += left[rows].astype(np.float64).T @ right[rows].astype(np.float64)
    return total


@dataclass(frozen=True, eq=False)
class RowsByVariable:
    """For every variable the samples in which it is clamped, or left out, in one flat list.

    Attributes:
        rows: those samples, variable by variable, in increasing order.
        start: where the list of each variable starts; the last entry is the length of `rows`.
        n_samples: of the data.
    """

    rows: Int[np.ndarray, " entries"]
    start: Int[np.ndarray, " variables_and_one"]
    n_samples: int

    @classmethod
    def of(cls, flags: Bool[np.ndarray, "samples variables"]) -> RowsByVariable:
        """Reads the list off flags, in one pass."""
        n_samples, n_variables = flags.shape
        flat = np.flatnonzero(flags)
        rows, columns = np.divmod(flat, max(n_variables, 1))
        order = np.argsort(columns, kind="stable")
        counts = np.bincount(columns, minlength=n_variables)
        return cls(rows[order], np.concatenate([[0], np.cumsum(counts)]), n_samples)

    def __getitem__(self, variable: int | np.integer) -> Int[np.ndarray, " some"]:
        """The samples of one variable."""
        return self.rows[self.start[variable] : self.start[variable + 1]]

    def others(self, variable: int | np.integer) -> Bool[np.ndarray, " samples"]:
        """True in all samples that are not listed for a variable."""
        free = np.ones(self.n_samples, dtype=bool)
        free[self[variable]] = False
        return free

    @cached_property
    def n_free(self) -> Int[np.ndarray, " variables"]:
        """The number of samples that are not listed."""
        return self.n_samples - np.diff(self.start)


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

    @cached_property
    def total(self) -> Float[np.ndarray, "features features"]:
        """The sum of φ φᵀ over all samples."""
        return product(self.features, self.features)

    @cached_property
    def sums(self) -> Float[np.ndarray, " features"]:
        """The sum of φ over all samples."""
        return np.asarray(self.features.sum(axis=0, dtype=np.float64))

    @cached_property
    def left_out(self) -> RowsByVariable:
        """The samples that each target leaves out."""
        return RowsByVariable.of(self.is_intervened)

    @cached_property
    def free_mean_and_variance(self) -> Float[np.ndarray, "two features"]:
        """Of every variable over the samples that it does not leave out; features are variables."""
        here = self.features[self.left_out.rows, np.repeat(*self._listed)].astype(np.float64)
        taken = [np.bincount(np.repeat(*self._listed), v, len(self)) for v in (here, here**2)]
        count = np.maximum(self.left_out.n_free, 1)
        mean = (self.sums - taken[0]) / count
        return np.stack([mean, (np.diagonal(self.total) - taken[1]) / count - mean**2])

    @property
    def _listed(self) -> tuple[Int[np.ndarray, " features"], Int[np.ndarray, " features"]]:
        return np.arange(len(self)), np.diff(self.left_out.start)

    @property
    def covariance(self) -> Float[np.ndarray, "features features"]:
        """Of the features over all samples, unbiased."""
        n_samples = len(self.features)
        matrix: Float[np.ndarray, "features features"] = np.outer(self.sums, self.sums / -n_samples)
        matrix += self.total
        matrix /= max(n_samples - 1, 1)
        return matrix

    def covariance_of(self, some: Int[np.ndarray, " some"]) -> Float[np.ndarray, "some some"]:
        """Of some features over all samples, as a mean."""
        n_samples = len(self.features)
        mean = self.sums[some] / n_samples
        matrix: Float[np.ndarray, "some some"] = self.total[np.ix_(some, some)] / n_samples
        return matrix - np.outer(mean, mean)

    def of(self, target: int) -> Moment:
        """Returns S_j and N_j of one target."""
        left_out = self.features[self.left_out[target]]
        count = int(self.left_out.n_free[target])
        return Moment((self.total - product(left_out, left_out)) / max(count, 1), count)

    def __iter__(self) -> Iterator[Moment]:
        return (self.of(target) for target in range(self.is_intervened.shape[1]))

    def __len__(self) -> int:
        return int(self.is_intervened.shape[1])
