import numpy as np
import pytest

from ucad.errors import InvalidInputError
from ucad.metrics import (
    ConstantFactorWarning,
    Correlation,
    Decoder,
    baselines,
    compare_structure,
    dci_scores,
    evaluate,
    explicitness,
    mean_correlation,
    randomised_dependence,
    rotated_controls,
)
from ucad.metrics.checks import check_factors

METRICS = [
    mean_correlation,
    randomised_dependence,
    explicitness,
    dci_scores,
    rotated_controls,
    evaluate,
]
RNG = np.random.default_rng(0)
GOOD = RNG.standard_normal((40, 2))
BAD = {
    "same samples": (GOOD, GOOD[:-1]),
    "must be finite": (np.where(np.eye(40, 2) > 0, np.nan, GOOD), GOOD),
    "at least 3 samples": (GOOD[:1], GOOD[:1]),
    "factors than samples": (GOOD.reshape(8, 10), GOOD.reshape(8, 10)),
    "two axes": (GOOD[:, 0], GOOD),
    "at least one column": (GOOD[:, :0], GOOD),
    "array of numbers": (np.full((40, 2), "one"), GOOD),
}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("message", BAD)
def test_bad_factors_are_refused_with_the_reason(metric, message):
    with pytest.raises(InvalidInputError, match=message):
        metric(*BAD[message])


def test_lists_integers_and_different_numbers_of_factors_are_accepted():
    pair = check_factors([[1], [2], [3]], [[1, 2], [3, 4], [5, 7]])
    assert pair.learned.shape == (3, 1)
    assert pair.true.dtype == np.float64


@pytest.mark.parametrize("coefficient", list(Correlation))
def test_a_constant_factor_counts_zero_with_a_warning(coefficient):
    learned = GOOD.copy()
    learned[:, 1] = 1e6
    with pytest.warns(ConstantFactorWarning, match="learned factor 1"):
        found = mean_correlation(learned, GOOD, coefficient)
    assert found.values.tolist() == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("decoder", list(Decoder))
def test_a_constant_true_factor_has_no_explained_variance(decoder):
    true = np.column_stack([GOOD[:, 0], np.ones(40)])
    with pytest.warns(ConstantFactorWarning, match="true factor 1"):
        assert explicitness(GOOD, true, decoder).per_factor[1] == 0


def test_a_constant_true_factor_has_no_completeness_and_no_nan():
    true = np.column_stack([GOOD[:, 0], np.ones(40)])
    with pytest.warns(ConstantFactorWarning, match="true factor 1"):
        found = dci_scores(GOOD, true)
    assert found.importance[:, 1].tolist() == [0, 0]
    assert np.isfinite([found.disentanglement, found.completeness, found.informativeness]).all()
    assert found.completeness <= 0.5


def test_a_factor_that_varies_a_little_around_a_large_offset_is_not_constant():
    assert mean_correlation(1e6 + 1e-3 * GOOD, GOOD).mean == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ((np.ones((3, 2)), np.ones((3, 2))), "parent and child"),
        ((np.ones((3, 2)), np.zeros((3, 1))), "same shape"),
        ((np.full((3, 2), 0.5), np.zeros((3, 2))), "zeros and ones"),
        ((np.ones((4, 2)), np.zeros((4, 2))), "same variables"),
    ],
)
def test_graphs_that_cannot_be_compared_are_refused(graph, message):
    true = np.eye(3, 2, dtype=bool), np.eye(3, 2, k=-1, dtype=bool)
    with pytest.raises(InvalidInputError, match=message):
        compare_structure(graph, true)


def test_more_baseline_factors_than_variables_are_refused():
    with pytest.raises(InvalidInputError, match="between 1 and the number of variables, 2"):
        baselines(GOOD, 3)
