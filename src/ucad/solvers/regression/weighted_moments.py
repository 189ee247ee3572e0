"""Moments and gains of regressions whose samples count differently for each target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from ucad.solvers.regression.moments import NUMERICAL, LocalMoments

__all__ = ["WeightedFeatureMoments", "explained_nats_weighted", "weighted_moments"]


@dataclass(frozen=True, eq=False)
class WeightedFeatureMoments:
    """The weighted moments of one set of features with every target, no matrix per target.

    Cov_j(f, g) = Σ_s w_sj f_s g_s / Σ_s w_sj − mean_j(f) mean_j(g). O(N d n) once, and O(N d) for
    every column that is asked for, where a matrix for each of n targets would take O(N d² n).

    Attributes:
        features: one column each.
        targets: one column each.
        weights: of every sample for every target; 0 leaves it out.
        floor: s₀, added to the variance of a target.
    """

    features: Float[np.ndarray, "samples features"]
    targets: Float[np.ndarray, "samples targets"]
    weights: Float[np.ndarray, "samples targets"]
    floor: float

    @cached_property
    def n_samples(self) -> Float[np.ndarray, " targets"]:
        """The samples that count."""
        return np.maximum((self.weights > 0).sum(axis=0), 1).astype(np.float64)

    @cached_property
    def _mass(self) -> Float[np.ndarray, " targets"]:
        return np.maximum(self.weights.sum(axis=0), 1e-300)

    @cached_property
    def mean(self) -> Float[np.ndarray, "targets features"]:
        """Of every feature."""
        return self.weights.T @ self.features / self._mass[:, None]

    @cached_property
    def _weighted(self) -> Float[np.ndarray, "samples targets"]:
        """The products w y, and 0 where a sample does not count, whatever stands there."""
        out = np.zeros(self.weights.shape)
        return np.multiply(self.weights, self.targets, out=out, where=self.weights > 0)

    @cached_property
    def _mean_of_target(self) -> Float[np.ndarray, " targets"]:
        return self._weighted.sum(axis=0) / self._mass

    @cached_property
    def variance(self) -> Float[np.ndarray, "targets features"]:
        """Of every feature."""
        square = self.weights.T @ self.features**2 / self._mass[:, None]
        return np.maximum(square - self.mean**2, 0.0) + NUMERICAL

    @cached_property
    def cross(self) -> Float[np.ndarray, "targets features"]:
        """The covariance of every feature with a target."""
        product = self._weighted.T @ self.features / self._mass[:, None]
        return product - self.mean * self._mean_of_target[:, None]

    @cached_property
    def own(self) -> Float[np.ndarray, " targets"]:
        """The variance of a target, with the floor."""
        square = np.einsum("sj,sj->j", self._weighted, np.where(self.weights > 0, self.targets, 0))
        return square / self._mass - self._mean_of_target**2 + self.floor

    def columns(
        self, which: Int[np.ndarray, " some"], features: Int[np.ndarray, " some"]
    ) -> Float[np.ndarray, "some features"]:
        """The covariances of one feature with all others, each for one target."""
        found = np.empty((len(which), self.features.shape[1]))
        for start in range(0, len(which), COLUMNS_AT_ONCE):
            some = slice(start, start + COLUMNS_AT_ONCE)
            j, f = which[some], features[some]
            weighted = self.features[:, f] * self.weights[:, j]
            found[some] = (self.features.T @ weighted / self._mass[j]).T
            found[some] -= self.mean[j] * self.mean[j, f][:, None]
        found[np.arange(len(which)), features] += NUMERICAL
        return found


COLUMNS_AT_ONCE = 256
"""Columns that are made in one product: 20 MB of 10,000 samples."""


def weighted_moments(
    features: Float[np.ndarray, "samples features"],
    targets: Float[np.ndarray, "samples targets"],
    weights: Float[np.ndarray, "samples targets"],
    candidates: Sequence[Int[np.ndarray, " ..."]],
    floor: float,
) -> LocalMoments:
    """The moments of `local_moments`, Σ_s w_s (v_s − v̄)(v_s − v̄)ᵀ / Σ_s w_s for every target.

    A sample of weight 0 is left out. O(N k²) for a target of k candidates.
    """
    n_targets, n_features = targets.shape[1], features.shape[1]
    width = max((len(c) for c in candidates), default=0)
    index = np.zeros((n_targets, width), dtype=np.int64)
    exists = np.zeros((n_targets, width), dtype=bool)
    gram = np.zeros((n_targets, width + 1, width + 1))
    both = np.concatenate([features, targets], axis=1)
    for j, chosen in enumerate(candidates):
        index[j, : len(chosen)], exists[j, : len(chosen)] = chosen, True
        rows = np.flatnonzero(weights[:, j])
        values = both[np.ix_(rows, np.append(index[j], n_features + j))]
        share = weights[rows, j] / max(float(weights[rows, j].sum()), 1e-300)
        centred = values - share @ values
        gram[j] = (centred * share[:, None]).T @ centred
    gram[:, np.arange(width), np.arange(width)] += np.where(exists, NUMERICAL, 1.0)
    gram[:, width, width] += floor
    counts = np.maximum((weights > 0).sum(axis=0), 1).astype(np.float64)
    return LocalMoments(candidates=index, gram=gram, n_samples=counts, exists=exists)


def explained_nats_weighted(
    columns: Float[np.ndarray, "samples columns"],
    targets: Float[np.ndarray, "samples targets"],
    weights: Float[np.ndarray, "samples targets"],
    floor: float = 0.0,
) -> Float[np.ndarray, "targets columns"]:
    """Log-likelihood that a line in each column alone gains for each target.

    With weighted means taken off, (Σ w f t)² / (Σ w f² · Σ w t²) is the share that f explains.
    """
    mass = np.maximum(weights.sum(axis=0), 1e-300)
    weighted = weights * targets
    mean_t, mean_f = weighted.sum(axis=0) / mass, columns.T @ weights / mass
    total = (weighted * targets).sum(axis=0) / mass - mean_t**2 + floor
    spread = (columns**2).T @ weights / mass - mean_f**2
    cross = columns.T @ weighted / mass - mean_f * mean_t
    share = cross**2 / np.maximum(spread * total, 1e-12)
    nats = -(weights > 0).sum(axis=0) / 2 * np.log1p(-np.minimum(share, 1 - 1e-9))
    gains: Float[np.ndarray, "targets columns"] = nats.T
    return gains
