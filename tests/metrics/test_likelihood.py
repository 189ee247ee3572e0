import numpy as np
import pytest

from ucad.errors import InvalidInputError
from ucad.metrics import negative_log_likelihood, nll_by_regime

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 3))
ONES = np.ones(3)


def test_an_unexplained_standardised_variable_has_the_papers_value():
    x = (X - X.mean(axis=0)) / X.std(axis=0)
    assert negative_log_likelihood(x, np.zeros_like(x), ONES) == pytest.approx(1.4189, abs=1e-4)


def test_thirteen_unexplained_and_three_explained_variables_have_the_papers_nll():
    x = RNG.standard_normal((100, 16))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    mean = np.where(np.arange(16) < 13, 0.0, x)
    scale = np.where(np.arange(16) < 13, 1.0, 0.0)
    # Setting a at 16-3: 0.4647 ± 0.0023.
    assert negative_log_likelihood(x, mean, scale) == pytest.approx(0.4647, abs=0.0046)


def test_clamped_entries_do_not_enter():
    clamped = np.zeros_like(X, dtype=bool)
    clamped[:, 0] = True
    moved = X + 100.0 * clamped
    assert negative_log_likelihood(moved, X, ONES, clamped) == pytest.approx(
        0.5 * np.log(2 * np.pi)
    )


def test_regimes_are_told_apart():
    clamped = np.zeros_like(X, dtype=bool)
    clamped[30:, 1] = True
    mean = X + np.where(np.arange(50) >= 30, 1.0, 0.0)[:, None]
    found = nll_by_regime(X, mean, ONES, clamped)
    assert found.observational == pytest.approx(0.5 * np.log(2 * np.pi))
    assert found.interventional == pytest.approx(found.observational + 0.5)
    assert found.everything == pytest.approx(
        (90 * found.observational + 40 * found.interventional) / 130
    )


def test_a_regime_without_samples_has_no_nll():
    assert nll_by_regime(X, X, ONES).interventional is None
    assert nll_by_regime(X, X, ONES, np.ones_like(X, dtype=bool)) == (None, None, None)


def test_nothing_left_to_score_is_refused():
    with pytest.raises(InvalidInputError, match="not be intervened on"):
        negative_log_likelihood(X, X, ONES, np.ones_like(X, dtype=bool))


def test_predictions_that_are_not_finite_are_refused():
    with pytest.raises(InvalidInputError, match="'mean' must be finite"):
        negative_log_likelihood(X, np.full_like(X, np.nan), ONES)
