import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from ucad.errors import InvalidInputError
from ucad.metrics import (
    RotationSettings,
    bootstrap_interval,
    compare_structure,
    mean_correlation,
    permuted_level,
    random_graphs,
    rotated_controls,
)
from ucad.metrics.chance import random_orthogonal, rotate

Z = np.random.default_rng(0).standard_normal((500, 4))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_random_orthogonal_matrices_are_orthogonal(size, seed):
    U = random_orthogonal(size, np.random.default_rng(seed))
    np.testing.assert_allclose(U @ U.T, np.eye(size), atol=1e-12)


def test_random_orthogonal_matrices_are_uniform():
    # One column of a Haar matrix is uniform on the sphere: in 3 dimensions each entry is uniform.
    rng = np.random.default_rng(0)
    entries = [random_orthogonal(3, rng)[0, 0] for _ in range(1000)]
    assert scipy.stats.kstest(entries, scipy.stats.uniform(-1, 2).cdf).pvalue > 0.01


def test_rotating_keeps_lengths_and_loses_the_coordinates():
    rotated = rotate(Z, np.random.default_rng(1))
    np.testing.assert_allclose(np.linalg.norm(rotated, axis=1), np.linalg.norm(Z, axis=1))
    assert mean_correlation(rotated, Z).mean < 0.95


def test_standardised_controls_do_not_see_the_scale_of_a_factor_and_plain_ones_do():
    scaled = Z * [1.0, 1.0, 1.0, 50.0]
    plain = RotationSettings(standardised=False)
    standardised, plain_level = (
        rotated_controls(scaled, scaled, settings=settings).true_rotated.mean
        for settings in (RotationSettings(), plain)
    )
    assert standardised == pytest.approx(rotated_controls(Z, Z).true_rotated.mean, abs=1e-9)
    assert plain_level < standardised - 0.1


def test_controls_of_the_truth_itself_are_below_a_perfect_score_and_above_none():
    controls = rotated_controls(Z, Z)
    for level in controls:
        assert 0.4 < level.mean < 0.95
    assert controls.true_rotated.n_draws == 20


def test_permuted_samples_have_no_correlation():
    level = permuted_level(lambda rows: mean_correlation(Z[rows], Z).mean, 500)
    assert level.mean < 0.1


def test_at_least_one_draw_is_needed():
    with pytest.raises(InvalidInputError, match="at least one draw"):
        permuted_level(lambda rows: 0.0, 5, n_permutations=0)


def test_the_bootstrap_interval_of_a_mean_covers_it_as_often_as_it_says():
    rng = np.random.default_rng(0)
    covered = []
    for seed in range(200):
        x = rng.standard_normal(60)
        low, high = bootstrap_interval(
            lambda rows, x=x: x[rows].mean(), x.mean(), 60, confidence=0.9, seed=seed
        )
        covered.append(low <= 0.0 <= high)
    assert 0.83 < np.mean(covered) < 0.96


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_a_confidence_that_is_no_probability_is_refused(confidence):
    with pytest.raises(InvalidInputError, match="confidence"):
        bootstrap_interval(lambda rows: 0.0, 0.0, 5, confidence=confidence)


def test_random_graphs_have_the_edges_of_the_given_one_elsewhere():
    state = np.random.default_rng(0).choice(3, size=(20, 4), p=[0.1, 0.1, 0.8])
    Q, R = state == 0, state == 1
    graphs = list(random_graphs(Q, R, n_graphs=30, seed=1))
    assert all((q.sum(), r.sum()) == (Q.sum(), R.sum()) for q, r in graphs)
    assert not any((q & r).any() for q, r in graphs)
    assert min(compare_structure(graph, (Q, R)).shd for graph in graphs) > 0
