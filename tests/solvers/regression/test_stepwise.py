"""Stepwise selection against brute force over all subsets, and where each direction fails."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ucad.solvers.regression.stepwise import Problems, select_features

PENALTY = 10.0


def gram_of(x):
    return np.cov(x.T, bias=True)


def one_problem(gram, n_samples, allowed=None):
    may = np.ones((1, len(gram) - 1), dtype=bool) if allowed is None else allowed
    return Problems(gram[None], np.array([float(n_samples)]), np.array([0]), may)


def score_of(gram, subset, n_samples):
    target = len(gram) - 1
    residual = gram[target, target]
    if subset:
        to = gram[list(subset), target]
        residual = residual - to @ np.linalg.solve(gram[np.ix_(subset, subset)], to)
    return -n_samples / 2 * np.log(residual) - PENALTY * len(subset)


def best_of_all(gram, n_samples):
    k = len(gram) - 1
    subsets = [s for size in range(k + 1) for s in itertools.combinations(range(k), size)]
    return max(subsets, key=lambda s: score_of(gram, s, n_samples))


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), n_true=st.integers(0, 3))
def test_the_best_subset_of_independent_features_is_found(seed, n_true):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((500, 5))
    y = x[:, :n_true].sum(axis=1) + rng.standard_normal(500)
    gram = gram_of(np.column_stack([x, y]))
    found = select_features(one_problem(gram, 500), PENALTY)
    assert tuple(np.flatnonzero(found.selected[0])) == best_of_all(gram, 500)
    assert found.score[0] == pytest.approx(score_of(gram, best_of_all(gram, 500), 500))


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_no_score_is_above_the_best_subset_and_each_is_that_of_its_own(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((200, 6)) @ rng.standard_normal((6, 6))
    gram = gram_of(x) + 1e-3 * np.eye(6)
    found = select_features(one_problem(gram, 200), PENALTY)
    chosen = tuple(np.flatnonzero(found.selected[0]))
    assert found.score[0] == pytest.approx(score_of(gram, chosen, 200), rel=1e-6)
    assert found.score[0] <= score_of(gram, best_of_all(gram, 200), 200) + 1e-6


def siblings(n_parents=20, n_siblings=8, n_samples=1000):
    """Parents, then siblings, then one more child: all children are noisy copies of one sum.

    Every parent alone explains a twentieth of the sum, and any sibling most of it.
    """
    rng = np.random.default_rng(0)
    parents = rng.standard_normal((n_samples, n_parents))
    z = parents.sum(axis=1) / np.sqrt(n_parents)
    noise = rng.standard_normal((n_samples, n_siblings + 1))
    scale = np.append(np.full(n_siblings, 0.5), 0.2)
    return gram_of(np.column_stack([parents, z[:, None] + scale * noise])), n_parents


def test_growing_takes_siblings_for_parents_and_eliminating_does_not():
    gram, n_parents = siblings()
    problem = one_problem(gram, 1000)
    grown = select_features(problem, PENALTY, backward=False)
    both = select_features(problem, PENALTY)
    assert grown.selected[0, n_parents:].all()
    assert not grown.selected[0, :n_parents].all()
    assert both.selected[0].tolist() == [True] * n_parents + [False] * 8
    assert both.score[0] > grown.score[0]


def test_the_better_of_the_two_is_taken_where_eliminating_is_the_worse_one():
    """Two features that matter only together with a third lose it in an elimination."""
    found = worse = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((60, 8)) @ rng.standard_normal((8, 8))
        problem = one_problem(gram_of(x) + 1e-2 * np.eye(8), 60)
        grown = select_features(problem, 3.0, backward=False).score[0]
        both = select_features(problem, 3.0).score[0]
        assert both >= grown - 1e-9
        found += both > grown + 1e-6
        worse += both < grown + 1e-6
    assert found > 0  # elimination was better somewhere,
    assert worse > 0  # and growing was as good or better elsewhere


def test_coefficients_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 3))
    y = x @ [1.0, -2.0, 0.5] + 0.1 * rng.standard_normal(400)
    gram = gram_of(np.column_stack([x, y]))
    expected = np.linalg.lstsq(x - x.mean(axis=0), y - y.mean(), rcond=None)[0]
    found = select_features(one_problem(gram, 400), PENALTY)
    np.testing.assert_allclose(found.coefficients[0], expected, rtol=1e-8)


def test_a_wrong_first_pick_is_dropped_again():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 2000))
    proxy = a + b + 0.3 * rng.standard_normal(2000)
    gram = gram_of(np.column_stack([proxy, a, b, a + b + 0.01 * rng.standard_normal(2000)]))
    found = select_features(one_problem(gram, 2000), PENALTY, backward=False)
    assert found.selected[0].tolist() == [False, True, True]


@pytest.mark.parametrize("backward", [False, True])
def test_features_that_are_not_allowed_are_not_used(backward):
    rng = np.random.default_rng(2)
    x = rng.standard_normal((300, 3))
    gram = gram_of(np.column_stack([x, x[:, 0] + 0.1 * rng.standard_normal(300)]))
    barred = one_problem(gram, 300, np.array([[False, True, True]]))
    assert not select_features(barred, PENALTY, backward=backward).selected.any()
    free = select_features(one_problem(gram, 300), PENALTY, backward=backward)
    assert free.selected[0].tolist() == [True, False, False]


def test_blur_makes_a_large_coefficient_cost_more():
    gram = np.array([[0.01, 0.1], [0.1, 1.01]])
    plain = select_features(one_problem(gram, 100), PENALTY)
    blurred = select_features(one_problem(gram, 100), PENALTY, blur=0.01)
    expected = -50 * np.log(plain.residual[0] + 0.01 * 10.0**2) - PENALTY
    assert blurred.score[0] == pytest.approx(expected)
