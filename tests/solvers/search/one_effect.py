"""Data in which x0 acts on x1, and is clamped in some samples."""

import numpy as np

from ucad.data import InterventionalData


def one_effect(slope, *, clamp_at=None, n_rows=70):
    """x0 → x1 with a given slope; x0 is clamped in 70 of 1070 samples."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1000 + n_rows, 3))
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[:n_rows, 0] = True
    if clamp_at is not None:
        x[:n_rows, 0] = clamp_at
    x[:, 1] += slope * x[:, 0]
    return InterventionalData.from_arrays(x, clamped)
