"""Correlation matrices under resampled samples, from counts instead of copies of the samples."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from ucad._types import FactorSamples
from ucad.metrics.rdc import Bases

__all__ = ["Ranks", "Resampler"]

RELATIVE_RANK = 1e-10
"""Directions with less than this share of a basis's largest variance are rounding errors."""


class Resampler:
    """Canonical correlations of two sets of bases if sample i occurred `counts[i]` times.

        C_ij = T_iᵀ (Σ_s w_s a_is b_jsᵀ − ā_i b̄_jᵀ) T_j,  T the whitening of a basis under w

    The functions are only centred and made orthonormal again under the new counts. For Pearson
    this is exact; for RDC the copula transform stays that of all samples.

    Cost per call: O(samples · (left functions) · (right functions)), in one product.
    """

    def __init__(self, left: Bases, right: Bases) -> None:
        self._shape = (left.shape[0], left.shape[2], right.shape[0], right.shape[2])
        self._sides = [np.ascontiguousarray(side.transpose(1, 0, 2)) for side in (left, right)]

    def __call__(self, counts: Float[np.ndarray, " samples"]) -> Float[np.ndarray, "left right"]:
        """The largest canonical correlation of every pair of bases."""
        weights = counts / counts.sum()
        scaled = [side * weights[:, None, None] for side in self._sides]
        means = [side.sum(axis=0) for side in scaled]
        whitening = [
            _whitening(_grams(side, part) - mean[:, :, None] * mean[:, None, :])
            for side, part, mean in zip(self._sides, scaled, means, strict=True)
        ]
        n_left, left_rank, n_right, right_rank = self._shape
        left = self._sides[0].reshape(len(counts), n_left * left_rank)
        cross = left.T @ scaled[1].reshape(len(counts), n_right * right_rank)
        cross -= np.outer(means[0], means[1])
        blocks = cross.reshape(n_left, left_rank, n_right, right_rank).transpose(0, 2, 1, 3)
        white = whitening[0][:, None].swapaxes(-1, -2) @ blocks @ whitening[1][None]
        if left_rank == right_rank == 1:
            return np.clip(np.abs(white[..., 0, 0]), 0.0, 1.0)
        return np.clip(np.linalg.svd(white, compute_uv=False)[..., 0], 0.0, 1.0)


class Ranks:
    """The ranks of columns if sample i occurred `counts[i]` times, ties sharing their mean.

    >>> ranks = Ranks(np.array([[5.0], [1.0], [5.0], [3.0]]))
    >>> ranks(np.array([1.0, 2.0, 1.0, 0.0]))[:, 0].tolist()
    [3.5, 1.5, 3.5, 2.5]

    (The last sample does not occur; what it gets has no weight.)
    """

    def __init__(self, z: FactorSamples) -> None:
        self._order = np.argsort(z, axis=0, kind="stable")
        ordered = np.take_along_axis(z, self._order, axis=0)
        is_new = np.ones(ordered.shape, dtype=bool)
        is_new[1:] = ordered[1:] != ordered[:-1]
        places = np.arange(len(z))[:, None]
        first = np.maximum.accumulate(np.where(is_new, places, 0), axis=0)
        ends = np.ones(ordered.shape, dtype=bool)
        ends[:-1] = is_new[1:]
        last = np.minimum.accumulate(np.where(ends, places, len(z))[::-1], axis=0)[::-1]
        self._first, self._last = self._by_sample(first), self._by_sample(last)

    def __call__(self, counts: Float[np.ndarray, " samples"]) -> FactorSamples:
        """Average ranks, in the order of the samples."""
        total = np.cumsum(counts[self._order], axis=0)
        before = np.concatenate([np.zeros((1, total.shape[1])), total[:-1]])
        low = np.take_along_axis(before, self._first, axis=0)
        high = np.take_along_axis(total, self._last, axis=0)
        return np.asarray((low + high + 1) / 2)

    def _by_sample(self, values: Int[np.ndarray, "samples columns"]) -> np.ndarray:
        out = np.empty_like(values)
        np.put_along_axis(out, self._order, values, axis=0)
        return out


def _grams(
    side: Float[np.ndarray, "samples bases k"], scaled: Float[np.ndarray, "samples bases k"]
) -> Float[np.ndarray, "bases k k"]:
    if side.shape[2] == 1:
        return np.einsum("sl,sl->l", side[:, :, 0], scaled[:, :, 0])[:, None, None]
    return np.einsum("sli,slj->lij", side, scaled, optimize=True)


def _whitening(gram: Float[np.ndarray, "bases k k"]) -> Float[np.ndarray, "bases k k"]:
    """T with Tᵀ G T = 1 in the directions that have a variance, 0 in others."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > RELATIVE_RANK * np.maximum(values[:, -1:], np.finfo(float).tiny)
    scale = np.where(kept, 1 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    return np.asarray(vectors * scale[:, None, :])
