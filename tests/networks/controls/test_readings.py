"""Readings: the same method on other units gives factors whatever units are dead."""

import numpy as np
import pytest

from ucad.networks.controls.readings import _Method, raw_inputs


def made(seed=0):
    x = np.random.default_rng(seed).standard_normal((400, 5))
    return x, np.tanh(x @ np.random.default_rng(seed + 1).standard_normal((5, 4)))


@pytest.mark.parametrize("dead", ["units", "children"])
def test_a_unit_that_never_changes_is_left_out(dead):
    x, y = made()
    (x if dead == "units" else y)[:, 2] = 0.1  # whose standard deviation is not quite 0
    z = _Method(y, None, np.arange(0, 400, 2), 2).factors(x, 0)
    assert z.shape == (400, 2)
    assert (z.std(axis=0) > 0).all()


def test_of_dead_units_alone_factors_are_zeros():
    x, y = made()
    assert not _Method(y, None, np.arange(400), 2).factors(np.full_like(x, 0.1), 0).any()
    assert not _Method(np.full_like(y, 0.1), None, np.arange(400), 2).factors(x, 0).any()


def test_more_factors_than_units_are_filled_up():
    x, y = made()
    z = _Method(y, None, np.arange(400), 7).factors(x, 0)
    assert z.shape == (400, 7)
    assert not z[:, 5:].any()


def test_raw_inputs_of_too_many_columns_are_none():
    assert raw_inputs(np.zeros((3, 4))) is None
    wide = np.random.default_rng(0).standard_normal((3, 100_000))
    assert raw_inputs(wide) is None
