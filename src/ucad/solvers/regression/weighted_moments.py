"""Moments and gains of regressions whose samples count differently for each target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from ucad.solvers.regression.moments import NUMERICAL, LocalMoments

__all__ = ["explained_nats_weighted", "weighted_moments"]


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
