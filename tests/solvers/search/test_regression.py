"""Grow–shrink against brute force over all subsets."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ucad.solvers.search.moments import local_moments
from ucad.solvers.search.regression import Problems, ScoreBook, grow_shrink

PENALTY = 10.0


def gram_of(x):
    return np.cov(x.T, bias=True)


def score_of(gram, subset, n_samples, penalty=PENALTY):
    *_, target = range(len(gram))
    inner = gram[np.ix_(subset, subset)]
    residual = gram[target, target]
    if subset:
        to = gram[list(subset), target]
        residual = residual - to @ np.linalg.solve(inner, to)
    return -n_samples / 2 * np.log(residual) - penalty * len(subset)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n_true=st.integers(0, 3))
def test_the_best_subset_of_independent_features_is_found(seed, n_true):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((500, 5))
    y = x[:, :n_true].sum(axis=1) + rng.standard_normal(500)
    gram = gram_of(np.column_stack([x, y]))
    one = Problems(gram[None], np.array([500.0]), np.array([0]), np.ones((1, 5), dtype=bool))
    found = grow_shrink(one, PENALTY)
    subsets = [s for size in range(6) for s in itertools.combinations(range(5), size)]
    best = max(score_of(gram, s, 500) for s in subsets)
    assert found.score[0] == pytest.approx(best, abs=1e-6)
    assert found.score[0] == pytest.approx(
        score_of(gram, tuple(np.flatnonzero(found.selected[0])), 500)
    )


def test_coefficients_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 3))
    y = x @ [1.0, -2.0, 0.5] + 0.1 * rng.standard_normal(400)
    gram = gram_of(np.column_stack([x, y]))
    one = Problems(gram[None], np.array([400.0]), np.array([0]), np.ones((1, 3), dtype=bool))
    centred = x - x.mean(axis=0)
    expected = np.linalg.lstsq(centred, y - y.mean(), rcond=None)[0]
    np.testing.assert_allclose(grow_shrink(one, PENALTY).coefficients[0], expected, rtol=1e-8)


def test_a_wrong_first_pick_is_dropped_again():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 2000))
    proxy = a + b + 0.3 * rng.standard_normal(2000)
    gram = gram_of(np.column_stack([proxy, a, b, a + b + 0.01 * rng.standard_normal(2000)]))
    one = Problems(gram[None], np.array([2000.0]), np.array([0]), np.ones((1, 3), dtype=bool))
    assert grow_shrink(one, PENALTY).selected[0].tolist() == [False, True, True]


def test_features_that_are_not_allowed_are_not_used_and_required_ones_are():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((300, 3))
    gram = gram_of(np.column_stack([x, x[:, 0] + 0.1 * rng.standard_normal(300)]))
    allowed = np.array([[False, True, True]])
    required = np.array([[False, False, True]])
    one = Problems(gram[None], np.array([300.0]), np.array([0]), allowed)
    assert not grow_shrink(one, PENALTY).selected.any()
    assert grow_shrink(one, PENALTY, required).selected[0].tolist() == [False, False, True]


def test_blur_makes_a_large_coefficient_cost_more():
    gram = np.array([[[0.01, 0.1], [0.1, 1.01]]])
    one = Problems(gram, np.array([100.0]), np.array([0]), np.ones((1, 1), dtype=bool))
    plain, blurred = grow_shrink(one, PENALTY), grow_shrink(one, PENALTY, blur=0.01)
    expected = -50 * np.log(plain.residual[0] + 0.01 * 10.0**2) - PENALTY
    assert blurred.score[0] == pytest.approx(expected)


def test_narrowing_to_allowed_columns_changes_nothing():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((500, 12))
    x[:, 11] += x[:, 0] + x[:, 1]
    moments = local_moments(x, x, np.zeros(x.shape, dtype=bool), [np.arange(11)] * 12, floor=1e-3)
    allowed = np.zeros((1, 11), dtype=bool)
    allowed[0, :3] = True
    narrow = ScoreBook(moments, PENALTY).select(np.array([11]), allowed)
    problems = Problems(moments.gram, moments.n_samples, np.array([11]), allowed)
    wide = grow_shrink(problems, PENALTY)
    assert (narrow.selected == wide.selected).all()
    np.testing.assert_allclose(narrow.coefficients, wide.coefficients)
    np.testing.assert_allclose(narrow.score, wide.score)


def test_a_score_is_looked_up_the_second_time():
    rng = np.random.default_rng(4)
    x = rng.standard_normal((100, 4))
    moments = local_moments(x, x, np.zeros(x.shape, dtype=bool), [np.arange(3)] * 4, floor=1e-3)
    book = ScoreBook(moments, PENALTY)
    allowed = np.ones((2, 3), dtype=bool)
    first = book.scores(np.array([3, 3]), allowed)
    assert len(book.known) == 1
    assert (book.scores(np.array([3, 3]), allowed) == first).all()
