import json
from pathlib import Path

import numpy as np
import pytest

from tests.golden import definitions
from ucad.metrics import (
    Correlation,
    RDCSettings,
    dci_scores,
    explicitness,
    mean_correlation,
    negative_log_likelihood,
    randomised_dependence,
)
from ucad.metrics.dci import completeness, disentanglement

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "metrics.json").read_text(encoding="utf-8")
)
LEARNED, TRUE = np.array(GOLDEN["learned"]), np.array(GOLDEN["true"])
CASES = GOLDEN["cases"]


@pytest.mark.parametrize("coefficient", list(Correlation))
def test_correlations_and_their_matching_agree_with_outside_packages(coefficient):
    found = mean_correlation(LEARNED, TRUE, coefficient)
    np.testing.assert_allclose(found.matrix, CASES[coefficient]["matrix"], atol=1e-7)
    assert found.over_pairs == pytest.approx(CASES[coefficient]["mcc"], abs=1e-7)


def test_linear_explicitness_agrees_with_scikit_learn():
    np.testing.assert_allclose(
        explicitness(LEARNED, TRUE).per_factor, CASES["r2_linear"]["per_factor"], atol=1e-10
    )


def test_dci_formulas_agree_with_those_written_out():
    golden = CASES["dci"]
    importance = np.array(golden["importance"])
    assert disentanglement(importance) == pytest.approx(golden["disentanglement"], abs=1e-12)
    assert completeness(importance) == pytest.approx(golden["completeness"], abs=1e-12)


def test_dci_takes_its_importances_and_r2_from_scikit_learn():
    # Trees break ties between splits by the last bit of the target, hence the tolerance.
    found, golden = dci_scores(LEARNED, TRUE), CASES["dci"]
    np.testing.assert_allclose(found.importance, golden["importance"], atol=5e-3)
    np.testing.assert_allclose(found.per_factor, golden["per_factor"], atol=5e-3)
    assert "GradientBoostingRegressor" in found.estimator


def test_nll_agrees_with_scipy():
    is_intervened = np.arange(TRUE.size).reshape(TRUE.shape) % 7 == 0
    found = negative_log_likelihood(
        TRUE, np.full_like(TRUE, 0.1), np.array([1.0, 0.5, 1e-3]), is_intervened
    )
    assert found == pytest.approx(CASES["nll"]["value"], rel=1e-10)


@pytest.mark.parametrize("scale", [1 / 6, 1.0, 3.0])
def test_rdc_of_all_pairs_at_once_agrees_with_the_definition_of_one(scale):
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((60, 1)), rng.integers(0, 4, (60, 1)).astype(float)
    settings = RDCSettings(n_features=7, scale=scale, seed=11)
    draws = np.random.default_rng(11)
    frequencies = draws.standard_normal((2, 7)), draws.standard_normal((2, 7))
    expected = definitions.rdc(x[:, 0], y[:, 0], *frequencies, scale=scale)
    found = randomised_dependence(x, y, settings).values[0, 0]
    assert found == pytest.approx(expected, abs=1e-6)
