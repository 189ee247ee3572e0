"""What every variable's regression needs to know of the data: masked second moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import VariableSamples, WhichIntervened
from ucad.scm.families import Family

__all__ = [
    "MIN_SIGNAL",
    "NUMERICAL",
    "LocalMoments",
    "explained_nats",
    "local_moments",
    "without_noise",
]

NUMERICAL = 1e-7
"""Added to the variance of every feature, so that collinear ones can be inverted in double
precision."""

MIN_SIGNAL = 0.1
"""The share of the variance of any combination of readings that is left when noise is taken off:
below it, moments are mostly sampling error, and an inverse would blow that up ten times."""


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


def explained_nats(
    columns: Float[np.ndarray, "samples columns"],
    x: VariableSamples,
    is_intervened: WhichIntervened,
    family: Family,
) -> Float[np.ndarray, "variables columns"]:
    """Log-likelihood that functions of each column alone gain for each variable where it is free.

    Approximate: clamped samples of a variable count as if they were at its mean.
    """
    free = ~is_intervened
    counts = free.sum(axis=0)
    means = (x * free).sum(axis=0) / np.maximum(counts, 1)
    targets = np.where(free, x - means, 0.0).astype(np.float32)
    total = np.maximum((targets**2).sum(axis=0), 1e-12)
    gains = np.zeros((x.shape[1], columns.shape[1]))
    for c, column in enumerate(columns.T):
        features = family.features(column[:, None])[:, 0]
        basis, _ = np.linalg.qr((features - features.mean(axis=0)).astype(np.float32))
        share = ((basis.T @ targets) ** 2).sum(axis=0) / total
        gains[:, c] = -counts / 2 * np.log1p(-np.minimum(share.astype(np.float64), 1 - 1e-9))
    return gains


def local_moments(
    features: Float[np.ndarray, "samples features"],
    x: VariableSamples,
    is_intervened: WhichIntervened,
    candidates: Sequence[Int[np.ndarray, " ..."]],
    floor: float,
    noise: Float[np.ndarray, "features features"] | None = None,
) -> LocalMoments:
    """Collects the moments of every target's candidates: the total minus the clamped samples.

    O(N d²) once, then O(N^c_j k²) for target j, where N^c_j samples clamp it. Features that are
    read with noise of a known covariance have it taken off (`without_noise`).
    """
    n_targets, n_features = x.shape[1], features.shape[1]
    width = max((len(c) for c in candidates), default=0)
    both = np.concatenate([features, x], axis=1)
    total, sums = both.T @ both, both.sum(axis=0)
    index = np.zeros((n_targets, width), dtype=np.int64)
    exists = np.zeros((n_targets, width), dtype=bool)
    gram = np.zeros((n_targets, width + 1, width + 1))
    counts = np.zeros(n_targets)
    for j, chosen in enumerate(candidates):
        index[j, : len(chosen)], exists[j, : len(chosen)] = chosen, True
        columns = np.append(index[j], n_features + j)
        clamped = both[np.ix_(is_intervened[:, j], columns)]
        counts[j] = max(len(x) - len(clamped), 1)
        mean = (sums[columns] - clamped.sum(axis=0)) / counts[j]
        moment = (total[np.ix_(columns, columns)] - clamped.T @ clamped) / counts[j]
        gram[j] = moment - np.outer(mean, mean)
    gram[:, np.arange(width), np.arange(width)] += np.where(exists, NUMERICAL, 1.0)
    gram[:, width, width] += floor
    if noise is not None and width:
        pair = exists[:, :, None] & exists[:, None, :]
        known = np.where(pair, noise[index[:, :, None], index[:, None, :]], 0.0)
        gram[:, :width, :width] = without_noise(gram[:, :width, :width], known)
    return LocalMoments(candidates=index, gram=gram, n_samples=counts, exists=exists)


def without_noise(
    gram: Float[np.ndarray, "*batch k k"], noise: Float[np.ndarray, "*batch k k"]
) -> Float[np.ndarray, "*batch k k"]:
    """G − t N, the second moments of what was read: errors in variables undone.

    N is the covariance of the reading noise, and t = 1 unless that would leave some direction with
    less than `MIN_SIGNAL` of its variance: t = min(1, (1 − MIN_SIGNAL) / λ_max(G⁻¹ N)).
    """
    inverse = np.linalg.inv(np.linalg.cholesky(gram))
    whitened = inverse @ noise @ np.swapaxes(inverse, -1, -2)
    largest = np.linalg.eigvalsh(whitened)[..., -1]
    t = np.minimum(1.0, (1 - MIN_SIGNAL) / np.maximum(largest, 1e-12))
    return gram - t[..., None, None] * noise
