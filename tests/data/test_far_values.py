"""Values that decide a variance by themselves are named; heavy tails and other units are not."""

import logging

import numpy as np
import pytest

import ucad
from ucad.data.far_values import far_values, row_counters, told


def data_of(x):
    return ucad.InterventionalData.from_targets(x, [""] * len(x))


@pytest.fixture
def x():
    return np.random.default_rng(0).standard_normal((2000, 4))


def test_a_wrong_decimal_point_is_named_with_its_value(x):
    x[[3, 9], 2] = (-5e5, 1e4)
    (found,) = far_values(data_of(x))
    assert found == ("X3", 2, -5e5)
    text = told([found])
    assert "'X3'" in text
    assert "-5e+05" in text


@pytest.mark.parametrize("factor", [1e-8, 1.0, 1e8])
def test_units_do_not_matter(x, factor):
    x[5, 0] = 1e4
    assert [one.variable for one in far_values(data_of(factor * x))] == ["X1"]


def test_heavy_tails_groups_of_samples_and_rare_events_are_not_far():
    rng = np.random.default_rng(1)
    tails = rng.standard_t(2, (2000, 1))
    groups = rng.standard_normal((2000, 1)) + 1e4 * (np.arange(2000) < 100)[:, None]
    events = (rng.random((2000, 1)) < 0.001).astype(float)
    skewed = rng.lognormal(0, 1, (2000, 1))
    assert far_values(data_of(np.hstack([tails, groups, events, skewed]))) == []


def test_a_fit_and_the_summary_say_so_unless_ranks_are_read(x, caplog):
    x[5, 0] = 1e4
    data = data_of(x)
    assert any("times the usual spread" in line for line in data.summary().warnings)
    settings = {"n_factors": 1, "factor_mechanism": "linear", "variable_mechanism": "linear"}
    with caplog.at_level(logging.WARNING):
        ucad.UCAD(reads="rank", **settings).fit(data)
        assert "usual spread" not in caplog.text
        ucad.UCAD(reads="none", **settings).fit(data)
        assert "usual spread" in caplog.text


@pytest.mark.parametrize("share", [0.02, 0.1, 0.2])
def test_a_number_that_stands_for_missing_values_is_named_however_often_it_stands(x, share):
    x[: int(share * len(x)), 1] = -999.0
    (found,) = far_values(data_of(x))
    assert (found.variable, found.example) == ("X2", -999.0)


def test_the_value_at_which_a_variable_was_clamped_is_not_far(x):
    x[:200, 0] = 1e4
    labels = ["X1"] * 200 + [""] * 1800
    assert far_values(ucad.InterventionalData.from_targets(x, labels)) == []


@pytest.mark.parametrize("start", [0, 1, 5000])
def test_a_column_that_counts_the_samples_is_named(x, start):
    x[:, 3] = np.arange(len(x)) + start
    assert row_counters(data_of(x)) == ["X4"]


def test_measurements_shuffled_counts_and_steps_of_another_size_count_nothing(x):
    x[:, 0] = np.random.default_rng(0).permutation(len(x))
    x[:, 1] = 2.0 * np.arange(len(x))
    x[:, 2] = np.arange(len(x)) // 2
    assert row_counters(data_of(x)) == []
