import numpy as np
import pytest

from ucad.data.splits import rows_by_regime, rows_stratified
from ucad.errors import InvalidInputError


def test_no_sample_is_lost_however_small_a_regime_is():
    regime = np.array([0] * 7 + [1] * 1 + [2] * 3)
    parts = rows_stratified(regime, [0.5, 0.3, 0.2], np.random.default_rng(0))
    assert sorted(np.concatenate(parts)) == list(range(11))


def test_a_negative_fraction_is_refused():
    with pytest.raises(InvalidInputError, match="at least 0"):
        rows_stratified(np.zeros(4, dtype=int), [1.5, -0.5], np.random.default_rng(0))


def test_whole_regimes_stay_together():
    regime = np.repeat(np.arange(6), 4)
    for part in rows_by_regime(regime, 2, 1, np.random.default_rng(0)):
        assert (np.bincount(regime[part], minlength=6) % 4 == 0).all()
