"""Pairs of consecutive layers, and the units in which they are fitted."""

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.solvers.layered.layer_pairs import PairData, layer_pairs


@pytest.fixture
def data():
    x = np.random.default_rng(0).normal(size=(200, 6)) * [1, 9, 2, 2, 0.1, 3] + 5
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[:50, 4], clamped[50:90, 0] = True, True
    return InterventionalData.from_arrays(x, clamped, layer_of=[0, 0, 1, 1, 2, 2])


def test_factors_are_shared_out_evenly_or_as_told(data):
    assert [pair.n_factors for pair in layer_pairs(data, 4)] == [2, 2]
    assert [pair.n_factors for pair in layer_pairs(data, 3, (1, 2))] == [1, 2]
    with pytest.raises(InvalidInputError, match="add up to 4"):
        layer_pairs(data, 4, (1, 2))
    with pytest.raises(InvalidInputError, match="multiple of the number of pairs"):
        layer_pairs(data, 3)


def test_samples_in_which_an_effect_is_clamped_are_left_out(data):
    first, second = layer_pairs(data, 2)
    assert len(PairData.of(data, first).x) == 200
    assert len(PairData.of(data, second).x) == 150


def test_samples_that_all_clamp_an_effect_are_refused(data):
    one_of_the_last_two = np.arange(6) == np.arange(4, 6).repeat(100)[:, None]
    clamped = InterventionalData.from_arrays(data.x, one_of_the_last_two, layer_of=data.layer_of)
    with pytest.raises(InvalidInputError, match="left alone"):
        PairData.of(clamped, layer_pairs(clamped, 2)[1])


def test_units_are_those_of_the_measurement_whether_data_are_standardised_or_not(data):
    pair, standard = layer_pairs(data, 2)[0], data.standardised()
    plain, scaled = PairData.of(data, pair), PairData.of(standard, pair)
    np.testing.assert_allclose(plain.x, scaled.x, atol=1e-12)
    np.testing.assert_allclose((plain.x**2).mean(), 1.0)
    for given, found in ((data, plain), (standard, scaled)):
        again = found.causes.mean + found.causes.scale * found.x
        np.testing.assert_allclose(again, given.x[:, :2], atol=1e-12)
        measured = found.measured.mean + found.measured.scale * found.y
        np.testing.assert_allclose(measured, data.x[:, 2:4], atol=1e-12)


def test_rectified_units_are_inactive_at_zero_in_any_units():
    x = np.maximum(0, np.random.default_rng(1).normal(size=(500, 8)))
    data = InterventionalData.from_arrays(x, layer_of=[0] * 4 + [1] * 4)
    for given in (data, data.standardised()):
        found = PairData.of(given, layer_pairs(given, 1)[0])
        np.testing.assert_array_equal(found.is_active, x[:, 4:] > 0)
