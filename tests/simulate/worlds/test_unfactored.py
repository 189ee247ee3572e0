"""Worlds without factors: a linear model on a DAG at variance 1."""

import numpy as np
import pytest

from tests.simulate.worlds.made_worlds import r_squared, world
from ucad.errors import InvalidInputError
from ucad.graph import topological_levels
from ucad.simulate.worlds import Unfactored, Violation, unfactored_problem
from ucad.simulate.worlds.unfactored import _weights


@pytest.mark.parametrize("probability", [0.1, 0.5, 1.0])
def test_variances_are_one_and_the_signal_is_in_its_range(probability):
    """x = x W + u, so that Cov x = L Lᵀ with L = (I − Wᵀ)⁻¹ diag(σ)."""
    settings = Unfactored(n_variables=9, edge_probability=probability, signal=(0.3, 0.6))
    weight, scale = _weights(settings, np.random.default_rng(0))
    L = np.linalg.inv(np.eye(9) - weight.T) @ np.diag(scale)
    np.testing.assert_allclose((L**2).sum(axis=1), 1.0)
    child = (weight != 0).any(axis=0)
    signal = ((weight.T @ L) ** 2).sum(axis=1)
    assert ((signal[child] >= 0.3) & (signal[child] <= 0.6)).all()
    np.testing.assert_allclose(signal, 1 - scale**2, atol=1e-12)
    assert topological_levels(weight != 0) is not None
    if probability == 1.0:
        assert (weight != 0).sum() == 9 * 8 / 2


def test_the_share_of_edges_is_that_asked_for():
    settings = Unfactored(n_variables=60, edge_probability=0.2)
    weight, _ = _weights(settings, np.random.default_rng(0))
    assert (weight != 0).sum() / (60 * 59 / 2) == pytest.approx(0.2, abs=0.03)


def test_the_order_of_the_columns_says_nothing_of_the_order_of_causes():
    settings = Unfactored(n_variables=40, edge_probability=0.5)
    weight, _ = _weights(settings, np.random.default_rng(1))
    forward = np.triu(weight != 0, k=1).sum() / (weight != 0).sum()
    assert 0.3 < forward < 0.7


def test_nothing_is_said_to_have_factors():
    problem = unfactored_problem(0, n_samples=210, asked_factors=2)
    assert (problem.graph, problem.scm, problem.n_factors) == (None, None, 0)
    assert problem.asked_factors == 2
    assert problem.violates == (Violation.NO_FACTORS,)


def test_only_descendants_of_a_target_move():
    problem = unfactored_problem(3, n_variables=8, n_samples=9 * 400, action="constant")
    data = problem.train.unstandardised()
    below = np.linalg.matrix_power(np.eye(8) + problem.adjacency, 8) > 0
    control = data.x[data.regime == 0]
    for regime in range(1, data.n_regimes):
        rows = data.x[data.regime == regime]
        error = np.sqrt(rows.var(axis=0) / len(rows) + control.var(axis=0) / len(control))
        moved = np.abs(rows.mean(axis=0) - control.mean(axis=0)) / np.maximum(error, 1e-9)
        reached = below[data.targets[regime]].any(axis=0)
        assert moved[~reached].max(initial=0) < 4.5
        assert (moved[data.targets[regime]] > 10).all()


@pytest.mark.parametrize("probability", [-0.1, 1.1])
def test_an_edge_probability_that_is_none_is_refused(probability):
    with pytest.raises(InvalidInputError, match=f"from 0 to 1. Got {probability}"):
        Unfactored(edge_probability=probability)


def test_without_factors_variables_follow_the_dag_or_nothing():
    independent, sparse, dense = (world(n) for n in ("independent", "sparse-dag", "dense-dag"))
    assert not independent.adjacency.any()
    assert 0 < sparse.adjacency.sum() < dense.adjacency.sum() / 2
    correlation = np.corrcoef(independent.test.x.T)
    assert np.abs(correlation - np.eye(len(correlation))).max() < 0.12
    for problem in (sparse, dense):
        for j in np.flatnonzero(problem.adjacency.any(axis=0)):
            explained = r_squared(problem.test.x[:, j], problem.test.x[:, problem.adjacency[:, j]])
            assert 0.4 < explained < 0.95
