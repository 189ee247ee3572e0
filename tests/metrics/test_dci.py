import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden import definitions
from ucad.errors import MissingDependencyError
from ucad.metrics import Trees, dci_scores
from ucad.metrics.dci import completeness, disentanglement

few = settings(max_examples=30, deadline=None)


def importances(seed, n_learned, n_true):
    rng = np.random.default_rng(seed)
    importance = rng.random((n_learned, n_true)) * (rng.random((n_learned, n_true)) < 0.6)
    importance[0] += 0.1
    return importance / importance.sum(axis=0)


@few
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(2, 5))
def test_the_scores_are_those_of_the_definition(seed, n_learned, n_true):
    importance = importances(seed, n_learned, n_true)
    expected = definitions.dci(importance.tolist())
    assert disentanglement(importance) == pytest.approx(expected[0])
    assert completeness(importance) == pytest.approx(expected[1])


@few
@given(st.integers(0, 2**32 - 1), st.permutations(range(4)), st.permutations(range(3)))
def test_relabelling_factors_leaves_the_scores_alone(seed, rows, columns):
    importance = importances(seed, 4, 3)
    shuffled = importance[np.ix_(rows, columns)]
    assert disentanglement(shuffled) == pytest.approx(disentanglement(importance))
    assert completeness(shuffled) == pytest.approx(completeness(importance))


def test_a_learned_factor_that_matters_for_nothing_has_no_weight():
    importance = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert disentanglement(importance) == 1.0


def test_importance_spread_evenly_scores_zero():
    importance = np.full((3, 3), 1 / 3)
    assert disentanglement(importance) == pytest.approx(0.0)
    assert completeness(importance) == pytest.approx(0.0)


def test_one_factor_on_each_side_is_trivially_complete_and_disentangled():
    assert disentanglement(np.ones((1, 1))) == completeness(np.ones((1, 1))) == 1.0


def test_no_importance_at_all_scores_zero():
    assert disentanglement(np.zeros((2, 2))) == completeness(np.zeros((2, 2))) == 0.0


@pytest.mark.parametrize("trees", list(Trees))
def test_trees_find_the_true_factors_disentangled_and_a_rotation_not(trees):
    true = np.random.default_rng(0).standard_normal((400, 2))
    rotation = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)
    straight, rotated = dci_scores(true, true, trees), dci_scores(true @ rotation, true, trees)
    assert straight.disentanglement > 0.9 > 0.3 > rotated.disentanglement
    assert straight.completeness > 0.9 > 0.3 > rotated.completeness
    assert straight.informativeness > 0.9
    assert {"lightgbm": "LGBM", "gradient_boosting": "Gradient"}[trees] in str(straight)


def test_columns_of_importance_sum_to_one():
    z = np.random.default_rng(0).standard_normal((60, 2))
    np.testing.assert_allclose(dci_scores(z, z).importance.sum(axis=0), 1.0)


def test_the_scale_of_a_factor_does_not_matter():
    true = np.random.default_rng(0).standard_normal((60, 2))
    large, small = dci_scores(true, true), dci_scores(true, 1e-9 * true)
    np.testing.assert_allclose(small.importance, large.importance, atol=0.02)


def test_missing_lightgbm_is_told_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    z = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises(MissingDependencyError, match=r"ucad\[fast\]"):
        dci_scores(z, z, Trees.LIGHTGBM)
