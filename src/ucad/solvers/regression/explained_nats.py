"""What each column alone explains of each variable, in nats."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float

from ucad._types import VariableSamples, WhichIntervened
from ucad.scm.families import Family

__all__ = ["explained_nats"]

COLUMNS_AT_ONCE = 256
"""The maximum number of columns of which features are made at a time."""

FEATURES_AT_ONCE = 256 * 7 * 10_000
"""Numbers of features, or of targets, held at a time: 72 MB in single precision."""


def explained_nats(
    columns: Float[np.ndarray, "samples columns"],
    x: VariableSamples,
    is_intervened: WhichIntervened,
    family: Family,
    floor: float = 0.0,
) -> Float[np.ndarray, "variables columns"]:
    """Log-likelihood that functions of each column alone gain for each variable where it is free.

    Approximate: clamped samples of a variable count as if they were at its mean. Nothing below a
    variance of `floor` is worth explaining.
    """
    counts = len(x) - is_intervened.sum(axis=0)
    gains = np.zeros((x.shape[1], columns.shape[1]))
    width = min(family.features(columns[:1, :1]).shape[2], len(x))
    for some in _column_blocks(columns.shape, width):
        features = family.features(columns[:, some])
        basis = np.empty((len(x), features.shape[1] * width), dtype=np.float32)
        for at, one in enumerate(features.transpose(1, 0, 2)):
            basis[:, at * width : (at + 1) * width] = _basis(one)
        for of in _column_blocks(x.shape, 1, x.shape[1]):
            targets = _centred(x[:, of], is_intervened[:, of])
            total = np.maximum(np.einsum("sj,sj->j", targets, targets), 1e-12)
            cross = (basis.T @ targets).astype(np.float64)
            explained = (cross**2).reshape(features.shape[1], -1, len(total)).sum(axis=1)
            share = np.minimum(explained / (total + floor * counts[of]), 1 - 1e-9)
            gains[of, some] = (-counts[of] / 2 * np.log1p(-share)).T
    return gains


def _centred(
    x: Float[np.ndarray, "samples some"], is_intervened: Bool[np.ndarray, "samples some"]
) -> Float[np.ndarray, "samples some"]:
    """Some variables less their means where they are free, 0 elsewhere, in single precision."""
    free = ~is_intervened
    means = x.sum(axis=0, where=free, dtype=np.float64) / np.maximum(free.sum(axis=0), 1)
    targets = (x - means.astype(x.dtype)).astype(np.float32, copy=False)
    targets[is_intervened] = 0.0
    return targets


def _column_blocks(
    shape: tuple[int, ...], width: int, most: int = COLUMNS_AT_ONCE
) -> Iterator[slice]:
    """Columns in parts of which `width` functions each are not too many numbers at a time."""
    n_samples, n_columns = shape
    fit = FEATURES_AT_ONCE // max(n_samples * width, 1)
    n_parts = -(-n_columns // max(min(most, fit), 1))
    edges = np.linspace(0, n_columns, n_parts + 1).round().astype(int).tolist()
    return (slice(*pair) for pair in itertools.pairwise(edges))


def _basis(features: Float[np.ndarray, "samples functions"]) -> Float[np.ndarray, "samples rank"]:
    """Orthonormal columns that span some functions, centred."""
    return np.linalg.qr((features - features.mean(axis=0)).astype(np.float32))[0]
