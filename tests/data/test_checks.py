import numpy as np
import pytest

from ucad.data import checks
from ucad.errors import InvalidInputError


def test_many_bad_values_are_counted_and_few_shown():
    with pytest.raises(InvalidInputError, match=r"row 0, column 'a'.* and 4 more"):
        checks.check_finite(np.full((3, 3), np.nan), ["a", "b", "c"])


def test_finite_values_whose_sum_overflows_are_accepted():
    with np.errstate(over="ignore"):
        checks.check_finite(np.full((4, 1), 1e308), ["a"])


def test_regimes_without_a_name_are_refused():
    with pytest.raises(InvalidInputError, match="every regime up to 3. Got 2"):
        checks.check_regime_names(np.array([0, 3]), ["a", "b"])
