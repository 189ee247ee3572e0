"""From the user's units to standardised ones and back."""

import numpy as np
import pytest

from ucad.data.scaling import Scaling


def test_every_column_gets_mean_0_and_variance_1_and_a_constant_one_only_mean_0():
    x = np.random.default_rng(0).normal([3.0, -5.0, 0.0], [2.0, 0.1, 0.0], size=(500, 3))
    scaled = Scaling.of(x).applied_to(x)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(scaled.std(axis=0), [1, 1, 0], atol=1e-9)


def test_more_columns_than_are_scaled_at_once_come_out_the_same():
    x = np.random.default_rng(0).normal(size=(20, 200))
    scaling = Scaling.of(x)
    np.testing.assert_array_equal(scaling.applied_to(x), (x - scaling.mean) / scaling.scale)


def test_what_was_scaled_cannot_be_changed_by_accident():
    x = np.random.default_rng(0).normal(size=(5, 2))
    with pytest.raises(ValueError, match="read-only"):
        Scaling.of(x).applied_to(x)[0, 0] = 1.0
