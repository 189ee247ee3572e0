"""Claims about what factors read of the values."""

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.data.transforms import Reads, check_transform, reads_of
from ucad.errors import FormatError, InvalidInputError


def sheet(x: np.ndarray) -> InterventionalData:
    return InterventionalData.from_arrays(x)


@pytest.mark.parametrize("kind", ["none", "log", "log1p", "rank"])
def test_what_is_read_can_be_measured_again(kind):
    x = np.random.default_rng(0).lognormal(size=(500, 3))
    reads = reads_of(sheet(x), kind)
    inside = np.quantile(x, [0.1, 0.5, 0.9], axis=0)
    np.testing.assert_allclose(reads.measured(reads.values(inside)), inside, rtol=1e-6)
    again = Reads.from_json(reads.to_json(), 3)
    np.testing.assert_array_equal(again.values(inside), reads.values(inside))


def test_ranks_are_normal_scores_whatever_the_shape():
    x = np.random.default_rng(0).lognormal(size=(4000, 2)) ** 3
    read = reads_of(sheet(x), "rank").values(x)
    assert np.abs(read.mean(axis=0)).max() < 0.05
    assert np.abs(read.std(axis=0) - 1).max() < 0.05


def test_a_value_without_a_logarithm_is_refused():
    x = np.random.default_rng(0).standard_normal((50, 2))
    with pytest.raises(InvalidInputError, match="read as its log"):
        reads_of(sheet(x), "log")


def test_a_name_that_is_none_is_refused_with_a_suggestion():
    with pytest.raises(InvalidInputError, match="Did you mean 'rank'"):
        check_transform("ranks")


def test_a_run_must_say_what_is_read_of_each_variable():
    with pytest.raises(FormatError, match="each variable"):
        Reads.from_json({"transform": ["log"]}, 2)
