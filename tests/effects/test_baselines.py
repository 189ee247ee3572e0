"""Simple predictions of a regime, against least squares over the samples they may use."""

import numpy as np
import pytest

from tests.effects.test_predictions import model, screen
from ucad.data import InterventionalData
from ucad.effects import measured_changes
from ucad.effects.baselines import Regressions, mean_of_others, no_change


def test_the_regression_is_that_over_the_other_samples():
    data = screen(model())
    changes = measured_changes(data)
    got = Regressions(data, changes).change(0, 2)
    rows = np.isin(data.regime, [0, 2])
    x = (data.x[rows] - changes.mean) / changes.sd
    slope = [np.polyfit(x[:, 0], x[:, j], 1)[0] for j in range(7)]
    np.testing.assert_allclose(got, changes.change[0, 0] * np.array(slope), rtol=1e-4)


@pytest.fixture(scope="module")
def pairs():
    """Regimes that act on two variables at a time, and one on what is not measured."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 4)) @ rng.standard_normal((4, 4))
    x[100:200, :2] += 2.0
    x[200:300, 1] -= 1.0
    x[300:] += 0.5
    labels = np.repeat(["", "X1;X2", "X2", "elsewhere"], 100).tolist()
    return InterventionalData.from_targets(x, labels)


def test_the_mean_of_others_leaves_the_regime_itself_out(pairs):
    changes = measured_changes(pairs)
    np.testing.assert_allclose(mean_of_others(changes, 0), changes.change[[1, 2]].mean(axis=0))
    one = measured_changes(pairs.select(np.flatnonzero(pairs.regime < 2)))
    assert mean_of_others(one, 0).tolist() == [0.0] * 4
    assert no_change(changes).tolist() == [0.0] * 4


@pytest.mark.parametrize(("row", "left_out"), [(0, ()), (0, (1,)), (1, (0, 2))])
def test_several_targets_are_regressed_on_together_over_the_samples_of_others(pairs, row, left_out):
    changes = measured_changes(pairs)
    kept = ~np.isin(pairs.regime, changes.regimes[[row, *left_out]])
    x = (pairs.x[kept] - changes.mean) / changes.sd
    targets = np.flatnonzero(changes.targets[row])
    A = np.column_stack([x[:, targets], np.ones(len(x))])
    slope = np.linalg.lstsq(A, x, rcond=None)[0][: len(targets)]
    found = Regressions(pairs, changes).change(row, *left_out)
    np.testing.assert_allclose(found, changes.change[row, targets] @ slope, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[targets], changes.change[row, targets], rtol=1e-4)


def test_a_regime_without_a_measured_target_cannot_be_regressed_on(pairs):
    assert Regressions(pairs, measured_changes(pairs)).change(2) is None


def test_a_target_that_never_varies_elsewhere_predicts_nothing():
    x = np.random.default_rng(0).standard_normal((60, 2))
    x[:, 0] = 0.0
    x[30:, 0] = 5.0
    data = InterventionalData.from_targets(x, [""] * 30 + ["X1"] * 30)
    found = Regressions(data, measured_changes(data)).change(0)
    assert found == pytest.approx([0.0, 0.0], abs=1e-6)
