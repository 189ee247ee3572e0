"""Copies of samples are left out; values that repeat by nature are not taken for copies."""

import logging

import numpy as np
import pytest

import ucad
from ucad.data.context import Context
from ucad.data.repeated_samples import counted_once, repeated_rows, told_repeated


def n_repeated(data):
    return len(repeated_rows(data))


@pytest.fixture
def x():
    return np.random.default_rng(0).standard_normal((500, 4))


@pytest.mark.parametrize("times", [2, 3, 10])
def test_every_copy_beyond_the_first_is_counted_in_any_order(x, times):
    rows = np.random.default_rng(1).permutation(np.tile(x, (times, 1)))
    assert n_repeated(ucad.InterventionalData.from_arrays(rows)) == (times - 1) * len(x)


def test_a_bootstrap_is_noticed(x):
    rows = x[np.random.default_rng(2).integers(0, 500, 500)]
    copies = n_repeated(ucad.InterventionalData.from_arrays(rows))
    assert copies == 500 - len(np.unique(rows, axis=0))


def test_a_value_that_returns_and_equal_rows_of_other_regimes_are_no_copies(x):
    x[:250, 0] = x[250:, 0]
    assert n_repeated(ucad.InterventionalData.from_arrays(x)) == 0
    both = np.vstack([x, x])
    is_intervened = np.zeros(both.shape, dtype=bool)
    is_intervened[500:, 1] = True
    assert n_repeated(ucad.InterventionalData.from_arrays(both, is_intervened)) == 0


def test_binary_data_and_units_of_a_network_repeat_by_nature(x):
    binary = (x > 0).astype(float)
    assert n_repeated(ucad.InterventionalData.from_arrays(binary)) == 0
    units = ucad.InterventionalData.from_arrays(np.vstack([x, x]), layer_of=[0, 0, 1, 1])
    assert n_repeated(units) == 0


def test_a_few_copies_are_not_worth_a_word_and_many_are(x, caplog):
    few = ucad.InterventionalData.from_arrays(np.vstack([x, x[:3]]))
    assert told_repeated(few) == ""
    many = ucad.InterventionalData.from_arrays(np.vstack([x, x]))
    assert "500 of 1,000 samples" in told_repeated(many)
    assert any("exact copies" in line for line in many.summary().warnings)
    with caplog.at_level(logging.WARNING):
        ucad.UCAD(1, factor_mechanism="linear", variable_mechanism="linear").fit(many)
    assert "exact copies" in caplog.text


def test_a_fit_counts_every_sample_once(x):
    once = ucad.InterventionalData.from_arrays(x)
    ten_times = ucad.InterventionalData.from_arrays(np.repeat(x, 10, axis=0))
    np.testing.assert_array_equal(counted_once(ten_times).x, x)
    assert counted_once(once) is once


def test_equal_rows_with_another_context_are_no_copies(x):
    both = ucad.InterventionalData.from_arrays(np.vstack([x, x]))
    batch = Context(("batch",), np.repeat([[0.0], [1.0]], 500, axis=0))
    assert n_repeated(both.with_context(batch)) == 0
    assert n_repeated(both) == 500
