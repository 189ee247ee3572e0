import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden.definitions import best_mean
from ucad.metrics import Correlation, RDCSettings, mean_correlation
from ucad.metrics.checks import FactorPair
from ucad.metrics.correlation import (
    FixedSide,
    best_matching,
    correlation_bases,
    correlation_matrix,
    resampled_correlations,
)
from ucad.metrics.resampling import Ranks

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 5)
few = settings(max_examples=20, deadline=None)


def factors(seed, n_learned=3, n_true=3, n_samples=60):
    rng = np.random.default_rng(seed)
    true = rng.standard_normal((n_samples, n_true))
    mixing = rng.standard_normal((n_true, n_learned))
    return true @ mixing + rng.standard_normal((n_samples, n_learned)), true


@few
@given(seeds, st.floats(0.01, 100), st.floats(-100, 100), st.sampled_from([-1, 1]))
def test_pearson_does_not_see_affine_maps(seed, scale, shift, sign):
    learned, true = factors(seed)
    np.testing.assert_allclose(
        correlation_matrix(sign * scale * learned + shift, true),
        correlation_matrix(learned, true),
        atol=1e-9,
    )


MONOTONE = [np.exp, np.tanh, np.cbrt, lambda z: -(z**3), lambda z: z + np.abs(z) ** 3 * np.sign(z)]


@few
@given(seeds, st.sampled_from(MONOTONE), st.sampled_from([Correlation.SPEARMAN, Correlation.RDC]))
def test_ranks_do_not_see_monotone_maps(seed, monotone, coefficient):
    learned, true = factors(seed)
    # Spearman is blind to the direction; RDC's sine features of u and of 1 - u span nearly the
    # same functions, which is exact only without a tolerance.
    is_increasing = monotone(1.0) > monotone(0.0)
    tolerance = 1e-10 if coefficient is Correlation.SPEARMAN or is_increasing else 0.05
    np.testing.assert_allclose(
        correlation_matrix(monotone(learned), true, coefficient),
        correlation_matrix(learned, true, coefficient),
        atol=tolerance,
    )


@few
@given(
    seeds, st.sampled_from(list(Correlation)), st.permutations(range(4)), st.permutations(range(3))
)
def test_relabelling_factors_only_permutes_the_matrix(seed, coefficient, rows, columns):
    learned, true = factors(seed, n_learned=4)
    before, after = (
        mean_correlation(learned, true, coefficient),
        mean_correlation(learned[:, rows], true[:, columns], coefficient),
    )
    np.testing.assert_allclose(after.matrix, before.matrix[np.ix_(rows, columns)], atol=1e-10)
    assert after.mean == pytest.approx(before.mean, abs=1e-10)


@few
@given(seeds, st.sampled_from(list(Correlation)))
def test_mcc_does_not_see_the_order_of_samples(seed, coefficient):
    learned, true = factors(seed)
    order = np.random.default_rng(seed).permutation(len(true))
    assert mean_correlation(learned[order], true[order], coefficient).mean == pytest.approx(
        mean_correlation(learned, true, coefficient).mean, abs=1e-9
    )


def test_mcc_sees_linear_mixing():
    true = np.random.default_rng(0).standard_normal((2000, 2))
    mixing = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)
    assert mean_correlation(true @ mixing, true).mean == pytest.approx(np.sqrt(0.5), abs=0.03)


@few
@given(seeds, sizes, sizes)
def test_the_matching_is_the_best_of_all(seed, n_learned, n_true):
    matrix = np.random.default_rng(seed).random((n_learned, n_true))
    rows, columns = best_matching(matrix)
    assert len(set(rows)) == len(set(columns)) == min(n_learned, n_true)
    assert matrix[list(rows), list(columns)].mean() == pytest.approx(best_mean(matrix.tolist()))


def test_a_true_factor_without_a_partner_is_named_and_counts_zero():
    true = np.random.default_rng(0).standard_normal((100, 3))
    fewer, more = mean_correlation(true[:, [2, 0]], true), mean_correlation(true, true[:, [2, 0]])
    assert (fewer.unmatched_learned, fewer.unmatched_true) == ((), (1,))
    assert (more.unmatched_learned, more.unmatched_true) == ((1,), ())
    assert fewer.mean == pytest.approx(2 / 3)
    assert more.mean == fewer.over_pairs == more.over_pairs == pytest.approx(1.0)
    assert "2 matched pairs of 2 learned and 3 true factors; unmatched: true factor 1" in str(fewer)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_tiny_and_huge_factors_have_the_correlations_of_ordinary_ones(factor):
    learned, true = factors(0)
    np.testing.assert_allclose(
        correlation_matrix(factor * learned, true), correlation_matrix(learned, true), atol=1e-9
    )


@few
@given(seeds)
def test_resampling_by_counts_is_resampling_rows_for_pearson(seed):
    learned, true = factors(seed)
    rows = np.random.default_rng(seed).integers(len(true), size=len(true))
    bases = correlation_bases(FactorPair(learned, true), Correlation.PEARSON)
    counts = np.bincount(rows, minlength=len(true)).astype(float)
    np.testing.assert_allclose(
        resampled_correlations(*bases, counts),
        correlation_matrix(learned[rows], true[rows]),
        atol=1e-9,
    )


def test_counting_every_sample_once_changes_no_coefficient():
    learned, true = factors(1)
    for coefficient in Correlation:
        bases = correlation_bases(FactorPair(learned, true), coefficient)
        np.testing.assert_allclose(
            resampled_correlations(*bases, np.ones(len(true))),
            correlation_matrix(learned, true, coefficient),
            atol=1e-9,
        )


def test_ties_have_the_spearman_of_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 3, (2, 50)).astype(float)
    expected = abs(scipy.stats.spearmanr(x, y).statistic)
    found = correlation_matrix(x[:, None], y[:, None], Correlation.SPEARMAN)
    assert found[0, 0] == pytest.approx(expected)


def test_the_settings_of_rdc_are_told_beside_the_number():
    learned, true = factors(0)
    found = mean_correlation(learned, true, Correlation.RDC, RDCSettings(scale=2.0, seed=5))
    assert "k=20, s=2, tolerance=1e-07, seed=5" in str(found)


@few
@given(seeds)
def test_ranks_by_counts_are_ranks_of_resampled_rows(seed):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 9, size=(30, 3)) + (rng.random((30, 3)) if seed % 2 else 0.0)
    rows = rng.integers(30, size=30)
    counted = Ranks(z)(np.bincount(rows, minlength=30).astype(float))
    np.testing.assert_allclose(counted[rows], scipy.stats.rankdata(z[rows], axis=0))


@pytest.mark.parametrize("coefficient", list(Correlation))
def test_one_side_that_stays_changes_no_mcc(coefficient):
    learned, true = factors(2)
    expected = mean_correlation(learned, true, coefficient).mean
    assert FixedSide(true, 1, coefficient, None).mcc(learned) == pytest.approx(expected)
    assert FixedSide(learned, 0, coefficient, None).mcc(true) == pytest.approx(expected)
