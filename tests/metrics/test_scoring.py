"""The lines of single metrics against their definitions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import pearsonr, rankdata

from ucad.errors import InvalidInputError
from ucad.metrics import Correlation, EvaluationSettings, RDCSettings, evaluate, mean_correlation
from ucad.metrics.checks import check_factors
from ucad.metrics.explicitness import Decoder
from ucad.metrics.scoring import (
    _reordered_mcc,
    score_correlation,
    score_dci,
    score_explicitness,
)

RNG = np.random.default_rng(0)
TRUE = RNG.standard_normal((200, 3))
LEARNED = TRUE[:, [2, 0, 1]] + 0.3 * RNG.standard_normal((200, 3))
QUICK = EvaluationSettings(n_resamples=20, n_permutations=3, n_rotations=3, n_graphs=5)
NOTHING = EvaluationSettings(n_resamples=0, n_permutations=0, n_rotations=0, n_refits=0)
PAIR = check_factors(LEARNED, TRUE)


def test_mcc_is_the_mean_correlation_of_matched_factors():
    (line,) = score_correlation(PAIR, NOTHING, Correlation.PEARSON)
    matched = [abs(pearsonr(LEARNED[:, k], TRUE[:, j])[0]) for k, j in ((0, 2), (1, 0), (2, 1))]
    assert line.value == pytest.approx(np.mean(matched))
    assert (line.low, line.chance, line.learned_rotated) == (None, None, None)


@pytest.mark.parametrize("coefficient", [Correlation.PEARSON, Correlation.SPEARMAN])
def test_a_resample_scores_as_if_its_rows_had_been_measured(coefficient):
    """The fast path by counts, against the metric of the rows themselves."""
    resampled, _ = _reordered_mcc(PAIR, NOTHING, coefficient)
    rows = np.random.default_rng(1).integers(0, 200, 200)
    expected = mean_correlation(LEARNED[rows], TRUE[rows], coefficient).mean
    assert resampled(rows) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("coefficient", [Correlation.PEARSON, Correlation.SPEARMAN])
def test_chance_is_the_metric_of_the_truth_in_another_order(coefficient):
    _, shuffled = _reordered_mcc(PAIR, NOTHING, coefficient)
    rows = np.random.default_rng(2).permutation(200)
    expected = mean_correlation(LEARNED, TRUE[rows], coefficient).mean
    assert shuffled(rows) == pytest.approx(expected, abs=1e-9)


def test_a_perfect_score_has_an_interval_that_ends_at_one():
    (line,) = score_correlation(check_factors(TRUE, TRUE), QUICK, Correlation.SPEARMAN)
    assert (line.value, line.high) == (pytest.approx(1.0), pytest.approx(1.0))
    assert line.high <= 1.0


def test_ranks_make_monotone_maps_alike():
    pair = check_factors(np.exp(TRUE), TRUE)
    (line,) = score_correlation(pair, NOTHING, Correlation.SPEARMAN)
    assert line.value == pytest.approx(1.0)
    ranks = check_factors(rankdata(TRUE, axis=0), rankdata(TRUE, axis=0))
    assert score_correlation(ranks, NOTHING, Correlation.PEARSON)[0].value == pytest.approx(1.0)


def test_r2_is_over_held_out_samples_and_chance_is_near_nothing():
    (line,) = score_explicitness(PAIR, QUICK, Decoder.LINEAR)
    assert line.detail.endswith("40 held-out samples")
    assert line.value == pytest.approx(1 / 1.09, abs=0.08)
    assert line.chance < 0.1
    assert line.low < line.value <= line.high <= 1


def test_dci_has_three_lines_of_which_chance_is_left_out_if_not_asked_for():
    few = check_factors(LEARNED[:60], TRUE[:60])
    lines = score_dci(few, replace(NOTHING, n_refits=0))
    assert [line.metric for line in lines] == [
        "dci_informativeness",
        "dci_disentanglement",
        "dci_completeness",
    ]
    assert {line.chance for line in lines} == {None}
    assert all(0 <= line.value <= 1 for line in lines)


@pytest.mark.parametrize(
    "name", ["n_resamples", "n_permutations", "n_rotations", "n_refits", "n_graphs"]
)
def test_negative_numbers_of_draws_are_refused(name):
    with pytest.raises(InvalidInputError, match=f"'{name}' .* at least 0. Got -1"):
        EvaluationSettings(**{name: -1})


@pytest.mark.parametrize("coefficient", Correlation)
def test_an_unmatched_true_factor_counts_zero_in_value_interval_and_chance(coefficient):
    learned, metric = LEARNED[:, :2], f"mcc_{coefficient.value}"
    settings = replace(QUICK, n_permutations=3)
    counted = evaluate(learned, TRUE, metrics=[metric], settings=settings)[metric]
    over_pairs = replace(settings, over_pairs=True)
    alone = evaluate(learned, TRUE, metrics=[metric], settings=over_pairs)[metric]
    found = mean_correlation(learned, TRUE, coefficient)
    assert counted.value == pytest.approx(found.values.sum() / 3)
    assert alone.value == pytest.approx(found.values.mean())
    for name in ("value", "low", "high", "chance"):
        assert getattr(counted, name) == pytest.approx(getattr(alone, name) * 2 / 3)
    assert "counts 0" in counted.detail
    assert "counts 0" not in alone.detail


def test_the_bias_of_rdc_is_taken_off_its_chance_level_too():
    plain, removed = (
        evaluate(
            LEARNED,
            TRUE,
            metrics=["mcc_rdc"],
            settings=EvaluationSettings(
                n_resamples=0, n_permutations=3, n_rotations=0, rdc=RDCSettings(remove_bias=remove)
            ),
        )["mcc_rdc"]
        for remove in (False, True)
    )
    assert removed.chance < 0.7 * plain.chance
    assert "bias removed" in removed.detail
