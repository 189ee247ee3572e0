"""What every variable's regression needs to know of the data: masked second moments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import VariableSamples
from ucad.data.moments import MaskedMoments, RowsByVariable, product

__all__ = [
    "MIN_SIGNAL",
    "NUMERICAL",
    "FeatureMoments",
    "LocalMoments",
    "local_moments",
    "masked_covariance",
    "without_noise",
]

NUMERICAL = 1e-7
"""Added to the variance of every feature, so that collinear ones can be inverted in double
precision."""

MIN_SIGNAL = 0.1
"""The share of the variance of any combination of readings that is left when noise is taken off:
below it, moments are mostly sampling error, and an inverse would blow that up ten times."""

AT_ONCE = 2**22
"""Numbers of left-out samples gathered at a time: 32 MiB in double precision."""


@dataclass(frozen=True, eq=False)
class LocalMoments:
    r"""For every target j the second moments of its candidate features and of x_j itself.

    gram_j = Cov_{s : j not clamped in s}(φ_{c(j)}, x_j) + s₀ for x_j

    The floor s₀ keeps the log-likelihoods of deterministic relations finite. Memory O(n k²) for k
    candidates per target: no n × n × n array.

    Attributes:
        candidates: indices of the candidate features of every target.
        gram: their moments; the target is the last row and column.
        n_samples: N_j, the number of samples in which the target is not clamped.
        exists: False where a short list of candidates was filled up.
    """

    candidates: Int[np.ndarray, "targets k"]
    gram: Float[np.ndarray, "targets k+1 k+1"]
    n_samples: Float[np.ndarray, " targets"]
    exists: Bool[np.ndarray, "targets k"]

    @property
    def variance(self) -> Float[np.ndarray, "targets k"]:
        """Of every candidate."""
        return np.asarray(np.diagonal(self.gram, axis1=1, axis2=2)[:, :-1])

    @property
    def cross(self) -> Float[np.ndarray, "targets k"]:
        """The covariance of every candidate with the target."""
        return self.gram[:, -1, :-1]

    @property
    def own(self) -> Float[np.ndarray, " targets"]:
        """The variance of the target."""
        return self.gram[:, -1, -1]

    def columns(
        self, which: Int[np.ndarray, " some"], features: Int[np.ndarray, " some"]
    ) -> Float[np.ndarray, "some k"]:
        """The covariances of one candidate with all others, each for one target."""
        return self.gram[which, features, :-1]


@dataclass(frozen=True, eq=False)
class FeatureMoments:
    """The moments of one set of features with every target, without a matrix per target.

    What a target's left-out samples take away is taken off when a column is asked for: O(N^c_j d)
    each, and O(N d (d + n)) once.

    Attributes:
        features: the features, one column each.
        x: the targets.
        left_out: the samples that each target leaves out.
        floor: s₀, added to the variance of a target.
        noise: the covariance of the noise in the features, or None for none.
    """

    features: Float[np.ndarray, "samples features"]
    x: VariableSamples
    left_out: RowsByVariable
    floor: float
    noise: Float[np.ndarray, "features features"] | None = None

    @cached_property
    def total(self) -> Float[np.ndarray, "features features"]:
        """The sum of φ φᵀ over all samples."""
        return product(self.features, self.features)

    @cached_property
    def n_samples(self) -> Float[np.ndarray, " targets"]:
        """N_j, the samples in which a target is free."""
        return np.maximum(self.left_out.n_free, 1).astype(np.float64)

    @cached_property
    def _sums(self) -> tuple[Float[np.ndarray, "targets _"], ...]:
        """Sums over the free samples of φ, φ² and φ x_j; of x_j and x_j² in the last two."""
        phi = self.features
        n_targets = self.x.shape[1]
        sums, squares = (np.tile(phi.sum(axis=0, dtype=np.float64), (n_targets, 1)) for _ in "ab")
        squares[:] = np.diagonal(self.total)
        cross = product(self.x, phi)
        own = self.x.sum(axis=0, dtype=np.float64)
        own_square = np.einsum("sj,sj->j", self.x, self.x, dtype=np.float64)
        for some, rows, start in _gathered(self.left_out, phi.shape[1]):
            here = phi[rows].astype(np.float64)
            target = np.repeat(some, np.diff(np.append(start, len(rows))))
            x = self.x[rows, target].astype(np.float64)
            sums[some] -= np.add.reduceat(here, start)
            cross[some] -= np.add.reduceat(here * x[:, None], start)
            squares[some] -= np.add.reduceat(here**2, start)
            own[some] -= np.add.reduceat(x, start)
            own_square[some] -= np.add.reduceat(x**2, start)
        return sums, squares, cross, own[:, None], own_square[:, None]

    @cached_property
    def mean(self) -> Float[np.ndarray, "targets features"]:
        """Of every feature over the free samples of a target."""
        return self._sums[0] / self.n_samples[:, None]

    @cached_property
    def variance(self) -> Float[np.ndarray, "targets features"]:
        """Of every feature over the free samples of a target."""
        variance = self._sums[1] / self.n_samples[:, None] - self.mean**2 + NUMERICAL
        return (
            variance if self.noise is None else variance - np.outer(self._t, self.noise.diagonal())
        )

    @cached_property
    def cross(self) -> Float[np.ndarray, "targets features"]:
        """The covariance of every feature with a target."""
        x_mean = self._sums[3] / self.n_samples[:, None]
        return self._sums[2] / self.n_samples[:, None] - self.mean * x_mean

    @cached_property
    def own(self) -> Float[np.ndarray, " targets"]:
        """The variance of a target, with the floor."""
        _, _, _, total, square = (part[:, 0] for part in self._sums)
        return square / self.n_samples - (total / self.n_samples) ** 2 + self.floor

    def columns(
        self, which: Int[np.ndarray, " some"], features: Int[np.ndarray, " some"]
    ) -> Float[np.ndarray, "some features"]:
        """The covariances of one feature with all others, each for one target."""
        found = self.total[features]
        phi = self.features
        order = np.argsort(which, kind="stable")
        starts = np.flatnonzero(np.diff(which[order], prepend=-1))
        for some in np.split(order, starts[1:]):
            here = phi[self.left_out[which[some[0]]]].astype(np.float64, copy=False)
            found[some] -= here[:, features[some]].T @ here
        found /= self.n_samples[which][:, None]
        found -= self.mean[which] * self.mean[which, features][:, None]
        found[np.arange(len(which)), features] += NUMERICAL
        if self.noise is not None:
            found -= self._t[which][:, None] * self.noise[features]
        return found

    @cached_property
    def _t(self) -> Float[np.ndarray, " targets"]:
        """The share of the noise that is taken off the moments of each target."""
        assert self.noise is not None
        t, everything = np.zeros(len(self.n_samples)), np.arange(self.features.shape[1])
        plain = FeatureMoments(self.features, self.x, self.left_out, self.floor)
        for j in range(len(t)):
            gram = plain.columns(np.full(len(everything), j), everything)
            t[j] = _noise_share(gram, self.noise)
        return t


def _gathered(
    left_out: RowsByVariable, width: int
) -> Iterator[tuple[Int[np.ndarray, " some"], Int[np.ndarray, " rows"], Int[np.ndarray, " some"]]]:
    """Targets with left-out samples, those samples, and where each target's start; block-wise."""
    counts = np.diff(left_out.start)
    there = np.flatnonzero(counts)
    n_blocks = max(1, -(-int(counts.sum()) * width // AT_ONCE))
    for some in np.array_split(there, min(n_blocks, max(len(there), 1))):
        if len(some):
            rows = np.concatenate([left_out[j] for j in some])
            yield some, rows, np.concatenate([[0], np.cumsum(counts[some])[:-1]])


def local_moments(
    moments: MaskedMoments,
    variables: Int[np.ndarray, " targets"],
    candidates: Sequence[Int[np.ndarray, " ..."]],
    floor: float,
    *,
    y: Float[np.ndarray, "samples targets"] | None = None,
    noise: Float[np.ndarray, "features features"] | None = None,
) -> LocalMoments:
    """Collects the moments of every target's candidates: the total minus the clamped samples.

    O(N^c_j k²) for target j, where N^c_j samples clamp it, and O(N d) where `y` is given. Features
    that are read with noise of a known covariance have it taken off (`without_noise`).

    Args:
        moments: of the features.
        variables: which variables are the targets.
        candidates: the features of each target.
        floor: s₀.
        y: what is predicted in place of the variables; if None, features are the variables.
        noise: the covariance of the noise in the features.
    """
    width = max((len(c) for c in candidates), default=0)
    cross = None if y is None else product(y, moments.features)
    index = np.zeros((len(variables), width), dtype=np.int64)
    exists = np.zeros((len(variables), width), dtype=bool)
    gram = np.zeros((len(variables), width + 1, width + 1))
    counts = np.maximum(moments.left_out.n_free[variables], 1).astype(np.float64)
    for at, (j, chosen) in enumerate(zip(variables.tolist(), candidates, strict=True)):
        k = len(chosen)
        index[at, :k], exists[at, :k] = chosen, True
        other = None if y is None or cross is None else (cross[at][chosen], y[:, at])
        inside = np.append(np.arange(k), width)
        gram[at, inside[:, None], inside] = masked_covariance(moments, j, chosen, other)
    gram[:, np.arange(width), np.arange(width)] += np.where(exists, NUMERICAL, 1.0)
    gram[:, width, width] += floor
    if noise is not None and width:
        pair = exists[:, :, None] & exists[:, None, :]
        known = np.where(pair, noise[index[:, :, None], index[:, None, :]], 0.0)
        gram[:, :width, :width] = without_noise(gram[:, :width, :width], known)
    return LocalMoments(candidates=index, gram=gram, n_samples=counts, exists=exists)


def masked_covariance(
    moments: MaskedMoments,
    j: int,
    chosen: Int[np.ndarray, " k"],
    other: tuple[Float[np.ndarray, " k"], Float[np.ndarray, " samples"]] | None = None,
) -> Float[np.ndarray, "k+1 k+1"]:
    """The covariance of some features and of x_j, or of another target, where x_j is free."""
    rows, count = moments.left_out[j], max(int(moments.left_out.n_free[j]), 1)
    both = np.append(chosen, j)
    if other is None:
        left = moments.features.T[both[:, None], rows].T.astype(np.float64)
        total, sums = moments.total[both[:, None], both], moments.sums[both]
    else:
        to, y = other
        left = np.column_stack([moments.features.T[chosen[:, None], rows].T, y[rows]])
        left = left.astype(np.float64, copy=False)
        total = np.empty((len(both), len(both)))
        total[:-1, :-1] = moments.total[chosen[:, None], chosen]
        total[-1, :-1] = total[:-1, -1] = to
        total[-1, -1] = np.einsum("s,s->", y, y, dtype=np.float64)
        sums = np.append(moments.sums[chosen], y.sum(dtype=np.float64))
    mean = (sums - left.sum(axis=0)) / count
    covariance: Float[np.ndarray, "k+1 k+1"] = (total - left.T @ left) / count
    covariance -= mean[:, None] * mean
    return covariance


def without_noise(
    gram: Float[np.ndarray, "*batch k k"], noise: Float[np.ndarray, "*batch k k"]
) -> Float[np.ndarray, "*batch k k"]:
    """G − t N, the second moments of what was read: errors in variables undone.

    N is the covariance of the reading noise, and t = 1 unless that would leave some direction with
    less than `MIN_SIGNAL` of its variance: t = min(1, (1 − MIN_SIGNAL) / λ_max(G⁻¹ N)).
    """
    return gram - _noise_share(gram, noise)[..., None, None] * noise


def _noise_share(
    gram: Float[np.ndarray, "*batch k k"], noise: Float[np.ndarray, "*batch k k"]
) -> Float[np.ndarray, " *batch"]:
    """The t of `without_noise`."""
    inverse = np.linalg.inv(np.linalg.cholesky(gram))
    whitened = inverse @ noise @ np.swapaxes(inverse, -1, -2)
    largest = np.asarray(np.linalg.eigvalsh(whitened)[..., -1])
    return np.asarray(np.minimum(1.0, (1 - MIN_SIGNAL) / np.maximum(largest, 1e-12)))
