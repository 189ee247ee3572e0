"""A digest of a data set, by which run folders and checkpoints know theirs."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from ucad.data.kinds import RegimeKind

if TYPE_CHECKING:
    from ucad.data.dataset import InterventionalData

__all__ = ["fingerprint_of"]


def fingerprint_of(data: InterventionalData) -> str:
    """SHA-256 of all values, names, targets, regimes, kinds told and covariates."""
    digest = hashlib.sha256()
    layers = np.empty(0) if data.layer_of is None else data.layer_of
    missing = () if data.is_missing is None else (data.is_missing,)
    for array in (data.x, data.is_intervened, data.regime, layers, *missing):
        digest.update(f"{array.shape}{array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(repr((data.variable_names, data.regime_names)).encode())
    if any(kind is not RegimeKind.AUTO for kind in data.kinds):
        digest.update(repr([str(kind) for kind in data.kinds]).encode())
    if data.context is not None:
        digest.update(repr(data.context.names).encode())
        digest.update(np.ascontiguousarray(data.context.values).tobytes())
    return digest.hexdigest()
