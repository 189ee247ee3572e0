"""Single values are taken as they are or refused, never turned into something near."""

import math

import numpy as np
import pytest

from ucad.errors import InvalidInputError
from ucad.parameters import (
    MAX_SEED,
    as_callable,
    as_flag,
    as_number,
    as_seed,
    as_text,
    as_whole_number,
)
from ucad.parameters import one_of as one_of_names

NO_NUMBERS = [None, "2", b"2", [], {}, (), object(), np.array([1, 2]), 2j, math.nan, math.inf]


@pytest.mark.parametrize("value", [1, np.int8(3), np.uint64(7), 10**12])
def test_whole_numbers_of_every_type_are_taken(value):
    assert as_whole_number(value, "n", low=1) == int(value)
    assert type(as_whole_number(value, "n", low=1)) is int


@pytest.mark.parametrize("value", [*NO_NUMBERS, True, np.True_, 2.0, 0, -1, 10**30])
def test_what_is_no_whole_number_in_the_range_is_refused(value):
    with pytest.raises(InvalidInputError, match="'n' parameter must be a whole number from 1"):
        as_whole_number(value, "n", low=1, high=10**15)


@pytest.mark.parametrize("value", [*NO_NUMBERS, True, -1, 1, 1.0])
def test_what_is_no_number_in_the_range_is_refused(value):
    with pytest.raises(InvalidInputError, match="must be a share"):
        as_number(value, "n", "a share", 0.0, 1.0)


@pytest.mark.parametrize("value", [0, 0.2, np.float32(0.5)])
def test_numbers_in_the_range_are_taken(value):
    assert as_number(value, "n", "a share", 0.0, 1.0) == float(value)


@pytest.mark.parametrize("value", [0, 1, "no", None, [], np.array([True])])
def test_only_truth_values_are_flags(value):
    with pytest.raises(InvalidInputError, match="True or False"):
        as_flag(value, "n")
    assert as_flag(np.False_, "n") is False


def test_seeds_names_and_functions_have_their_ranges():
    assert as_seed(MAX_SEED) == MAX_SEED
    with pytest.raises(InvalidInputError, match="from 0 to"):
        as_seed(MAX_SEED + 1)
    with pytest.raises(InvalidInputError, match="Did you mean 'search'"):
        one_of_names("serach", "solver", ["auto", "search"])
    assert as_callable(None, "progress") is None
    with pytest.raises(InvalidInputError, match="a function, or None"):
        as_callable("x" * 500, "progress")


@pytest.mark.parametrize("value", [None, 2, b"auto", ["auto"], np.array("auto"), object()])
def test_a_text_is_a_text_and_nothing_else(value):
    assert as_text(np.str_("auto"), "solver", "auto") == "auto"
    with pytest.raises(InvalidInputError, match="'solver' parameter must be a text"):
        as_text(value, "solver", "auto")
