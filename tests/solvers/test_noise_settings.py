"""The noise of readings in the units of standardised data."""

import numpy as np

from ucad.data import InterventionalData
from ucad.solvers.noise_settings import noise_in_units_of


def test_the_variance_of_readings_shrinks_as_the_data_do():
    x = np.array([[0.0, 0.0], [2.0, 20.0], [4.0, 40.0]])
    data = InterventionalData.from_arrays(x).standardised()
    scale = x.std(axis=0)
    assert np.allclose(noise_in_units_of(data, [1.0, 4.0]), [1.0, 4.0] / scale**2)
    assert noise_in_units_of(data, None) is None
    assert np.allclose(noise_in_units_of(InterventionalData.from_arrays(x), [1.0, 4.0]), [1, 4])
