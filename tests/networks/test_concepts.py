import json

import numpy as np
import pytest

from ucad.errors import InvalidInputError
from ucad.metrics import Correlation, EvaluationSettings, Metric, evaluate, mean_correlation
from ucad.metrics.rdc import randomised_dependence
from ucad.networks import concept_table

RNG = np.random.default_rng(0)
Z = RNG.standard_normal((300, 3))
CONCEPTS = {"sign": Z[:, 1] > 0, "square": Z[:, 2] ** 2}
CONTROLS = {"coin": RNG.integers(2, size=300)}
NOISE = [RNG.standard_normal((300, 3)) for _ in range(4)]
QUICK = EvaluationSettings(n_resamples=20, n_permutations=5, n_refits=1)
FAST = (Metric.MCC_PEARSON, Metric.MCC_SPEARMAN, Metric.MCC_RDC, Metric.R2_LINEAR)


@pytest.fixture(scope="module")
def table():
    return concept_table(
        Z, CONCEPTS, CONTROLS, placebos={"noise": NOISE}, metrics=FAST, settings=QUICK
    )


def test_the_best_correlation_of_a_concept_is_that_of_its_factor(table):
    found = table.find("best_pearson", "sign")
    assert found.value == pytest.approx(abs(np.corrcoef(Z[:, 1], Z[:, 1] > 0)[0, 1]))
    assert found.detail == "factor 1"
    assert found.low < found.value < found.high
    assert found.chance < 0.2
    square = table.find("best_rdc", "square")
    column = (Z[:, 2] ** 2)[:, None]
    values = randomised_dependence(Z, np.c_[CONCEPTS["sign"], column]).values
    assert square.value == pytest.approx(values[:, 1].max())
    assert square.detail == "factor 2"


def test_lines_over_all_concepts_are_those_of_the_metrics(table):
    true = np.c_[CONCEPTS["sign"], CONCEPTS["square"]].astype(float)
    for coefficient in Correlation:
        expected = mean_correlation(Z, true, coefficient)
        found = table.find(f"mcc_{coefficient.value}")
        assert found.value == pytest.approx(expected.mean)
        assert "2 matched pairs of 3 learned and 2 true" in found.detail
    bare = evaluate(Z, true, metrics=["r2_linear"], settings=QUICK)
    assert table.find("r2_linear").value == pytest.approx(bare["r2_linear"].value)


def test_concepts_need_not_all_be_factors_so_the_mean_is_over_the_pairs():
    found = concept_table(Z[:, :1], CONCEPTS, metrics=FAST[:1], settings=QUICK).find("mcc_pearson")
    true = np.c_[CONCEPTS["sign"], CONCEPTS["square"]].astype(float)
    assert found.value == pytest.approx(mean_correlation(Z[:, :1], true).over_pairs)


def test_placebos_have_their_mean_and_their_largest(table):
    level = table.find("best_pearson", "sign").placebos["noise"]
    values = [max(abs(np.corrcoef(z[:, k], Z[:, 1] > 0)[0, 1]) for k in range(3)) for z in NOISE]
    assert level.mean == pytest.approx(np.mean(values))
    assert level.largest == pytest.approx(max(values))
    assert level.n_draws == 4
    assert table.find("mcc_pearson", kind="negative").value < 0.3


def test_the_table_prints_and_travels(table):
    text = str(table)
    assert "noise" in text.splitlines()[0]
    assert len(text.splitlines()) == 1 + 4 * len(FAST) + 2 * 3
    read = json.loads(table.to_json())
    assert read["scores"][0]["kind"] == "positive"


def test_a_table_without_placebos_says_so_and_one_without_concepts_is_refused():
    bare = concept_table(Z, CONCEPTS, metrics=[], settings=QUICK)
    assert "no placebo factors" in str(bare)
    with pytest.raises(InvalidInputError, match="At least one concept"):
        concept_table(Z, {})
    with pytest.raises(InvalidInputError, match="no line 'best_pearson' of 'signs'"):
        bare.find("best_pearson", "signs")


def test_the_mlp_is_refitted_for_few_placebos():
    found = concept_table(
        Z,
        {"square": CONCEPTS["square"]},
        placebos={"noise": NOISE},
        metrics=[Metric.R2_MLP],
        settings=QUICK,
    ).find("r2_mlp")
    assert found.placebos["noise"].n_draws == 1
    assert found.value > found.placebos["noise"].largest
