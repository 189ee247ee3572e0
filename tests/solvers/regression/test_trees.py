"""Grow–shrink trees and the book of scores against selections made from scratch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ucad.data.moments import MaskedMoments, RowsByVariable
from ucad.solvers.regression.moments import FeatureMoments, local_moments
from ucad.solvers.regression.stepwise import Problems, select_features
from ucad.solvers.regression.trees import GrowShrinkTrees

PENALTY = 4.0


def samples(seed, n=400):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 6)) @ rng.standard_normal((6, 6)) + rng.standard_normal((n, 6))
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[:40, 2] = clamped[20:90, 4] = True
    x[clamped] = rng.standard_normal(int(clamped.sum()))
    return x, clamped


def moments_of(seed):
    x, clamped = samples(seed)
    others = [np.delete(np.arange(6), j) for j in range(6)]
    return local_moments(MaskedMoments(x, clamped), np.arange(6), others, floor=1e-3)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), blur=st.sampled_from([0.0, 0.1]))
def test_a_walk_ends_at_the_selection_made_from_scratch(seed, blur):
    moments, rng = moments_of(seed), np.random.default_rng(seed)
    trees = GrowShrinkTrees(moments, PENALTY, blur=blur)
    which, allowed = rng.integers(6, size=50), rng.random((50, 5)) < 0.6
    problems = Problems(moments.gram, moments.n_samples, which, allowed)
    expected = select_features(problems, PENALTY, backward=False, blur=blur)
    np.testing.assert_allclose(trees.scores(which, allowed), expected.score, rtol=1e-9)
    found = trees.select(which, allowed)
    assert (found.selected == expected.selected).all()
    np.testing.assert_allclose(found.coefficients, expected.coefficients, atol=1e-8)
    np.testing.assert_allclose(found.residual, expected.residual, rtol=1e-8)


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_only_what_a_walk_has_passed_by_changes_its_score(seed):
    moments, rng = moments_of(seed), np.random.default_rng(seed)
    trees = GrowShrinkTrees(moments, PENALTY)
    which, allowed = np.arange(6), rng.random((6, 5)) < 0.4
    before, passed = trees.scores(which, allowed), trees.walk(which, allowed, trace=True).passed
    passed = {tuple(pair) for pair in passed.tolist()}
    for j in range(6):
        for feature in np.flatnonzero(~allowed[j]).tolist():
            wider = allowed[[j]].copy()
            wider[0, feature] = True
            if (j, feature) not in passed:
                assert trees.scores(np.array([j]), wider)[0] == before[j]


def test_functions_of_one_candidate_are_allowed_together():
    moments = moments_of(1)
    trees = GrowShrinkTrees(moments, PENALTY, width=5)
    none, everything = np.zeros((6, 1), dtype=bool), np.ones((6, 1), dtype=bool)
    single = GrowShrinkTrees(moments, PENALTY)
    which = np.arange(6)
    wide = np.ones((6, 5), dtype=bool)
    assert (trees.scores(which, everything) == single.scores(which, wide)).all()
    assert (trees.scores(which, none) == single.scores(which, ~wide)).all()


@pytest.mark.parametrize("noisy", [False, True])
def test_moments_without_a_matrix_per_target_are_those_with_one(noisy):
    x, clamped = samples(2)
    noise = np.diag(np.linspace(0.1, 0.6, 6)) if noisy else None
    lazy = FeatureMoments(x, x, RowsByVariable.of(clamped), 1e-3, noise)
    everything = [np.arange(6)] * 6
    dense = local_moments(
        MaskedMoments(x, clamped), np.arange(6), everything, floor=1e-3, y=x, noise=noise
    )
    for name in ("variance", "cross", "own", "n_samples"):
        np.testing.assert_allclose(getattr(lazy, name), getattr(dense, name), atol=1e-9)
    which, features = np.array([2, 4, 0, 2]), np.array([1, 4, 5, 2])
    np.testing.assert_allclose(
        lazy.columns(which, features), dense.columns(which, features), atol=1e-9
    )
