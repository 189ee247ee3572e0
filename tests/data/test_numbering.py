"""Regimes numbered and named by what was clamped in them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ucad.data.numbering import named_regimes, regimes_of, regimes_of_labels

clamps = arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 3)))


@given(clamps)
def test_distinct_rows_are_numbered_as_they_appear_and_none_is_zero(is_intervened):
    known = {(False,) * is_intervened.shape[1]: 0}
    expected = [known.setdefault(tuple(row), len(known)) for row in is_intervened.tolist()]
    assert regimes_of(is_intervened).tolist() == expected


@given(st.lists(st.sampled_from(["", "a", "b", "a;b", "b;a", "elsewhere"]), min_size=1))
def test_labels_are_numbered_as_they_appear_and_clamp_what_they_name(labels):
    regimes, acted = regimes_of_labels(labels, ["a", "b"])
    known = {"": 0}
    expected = [known.setdefault(label, len(known)) for label in labels]
    assert regimes.regime.tolist() == expected
    assert regimes.names == ("observational", *list(known)[1:])
    for label, row in zip(labels, acted.tolist(), strict=True):
        assert row == ["a" in label.split(";"), "b" in label.split(";")]


def names_of(regime, is_intervened):
    found = named_regimes(np.array(regime), np.array(is_intervened, dtype=bool), ["a", "b"])
    return found.regime.tolist(), found.names


def test_a_regime_is_named_by_its_targets():
    regime, names = names_of([0, 1, 2, 1], [[0, 0], [0, 1], [1, 1], [0, 1]])
    assert regime == [0, 1, 2, 1]
    assert names == ("observational", "b", "a;b")


def test_a_second_regime_of_the_same_targets_and_one_without_keep_their_number():
    _, names = names_of([0, 1, 2, 3], [[0, 0], [0, 1], [0, 1], [0, 0]])
    assert names == ("observational", "b", "regime 2", "regime 3")


def test_numbers_that_are_missing_still_have_a_name():
    assert names_of([0, 2], [[0, 0], [0, 1]])[1] == ("observational", "regime 1", "b")


def test_large_codes_cost_nothing_and_stay_in_the_name():
    regime, names = names_of([0, 10**9, 7, 10**9], [[0, 0], [0, 0], [1, 0], [0, 0]])
    assert regime == [0, 2, 1, 2]
    assert names == ("observational", "a", "regime 1000000000")


def test_large_codes_without_controls_leave_zero_to_the_controls():
    regime, names = names_of([500, 900], [[1, 0], [0, 1]])
    assert regime == [1, 2]
    assert names == ("observational", "a", "b")
