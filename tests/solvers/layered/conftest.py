"""Two dense layers made of two known factors."""

import numpy as np
import pytest

from ucad.data import InterventionalData


@pytest.fixture(scope="session")
def mixed():
    """A coin and a uniform number, mixed densely into 6 units, remade as 6 rectified units."""
    rng = np.random.default_rng(0)
    z = np.c_[rng.choice([-1.0, 1.0], 4000), rng.uniform(-1.7, 1.7, 4000)]
    first = z @ rng.normal(size=(2, 6)) + 0.05 * rng.normal(size=(4000, 6))
    clamped = np.zeros((4000, 12), dtype=bool)
    for unit in range(6):
        rows = slice(3000 + 100 * unit, 3100 + 100 * unit)
        first[rows, unit] = rng.permutation(first[:100, unit])
        clamped[rows, unit] = True
    reading = np.linalg.pinv(rng.normal(size=(2, 6)))
    second = np.maximum(0, first @ reading @ rng.normal(size=(2, 6)) + rng.normal(size=6))
    data = InterventionalData.from_arrays(np.c_[first, second], clamped, layer_of=[0] * 6 + [1] * 6)
    return data, z
