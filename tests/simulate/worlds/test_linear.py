"""Linear models at variance 1, by the exact covariance of their equations."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.simulate.worlds.made_worlds import chain_model, standard_normal
from tests.strategies import anchored_graphs, seeds
from ucad.simulate.worlds.experiment import Doing
from ucad.simulate.worlds.linear import WEIGHT_RANGE, linear_model

LOW, HIGH = 0.4, 0.8


@settings(max_examples=15)
@given(anchored_graphs(), seeds)
def test_all_variances_are_one_and_children_have_the_signal_asked_for(graph, seed):
    """x = (I − W_X W_Z)⁻¹ u, so that Cov x = L Lᵀ with L = (I − W_X W_Z)⁻¹ diag(σ)."""
    model = linear_model(graph, (LOW, HIGH), np.random.default_rng(seed))
    total = model.W_X @ model.W_Z
    L = np.linalg.inv(np.eye(len(total)) - total) @ np.diag(model.noise_scale)
    np.testing.assert_allclose((L**2).sum(axis=1), 1.0)
    np.testing.assert_allclose(((model.W_Z @ L) ** 2).sum(axis=1), 1.0)
    signal = ((total @ L) ** 2).sum(axis=1)
    child = graph.R.any(axis=1)
    np.testing.assert_allclose(signal[~child], 0.0)
    np.testing.assert_allclose(signal, 1 - model.noise_scale**2, atol=1e-12)
    assert ((signal[child] >= LOW) & (signal[child] <= HIGH)).all()


@settings(max_examples=15)
@given(anchored_graphs(), seeds)
def test_weights_are_on_the_edges_and_no_parent_of_a_factor_has_less_than_a_third(graph, seed):
    model = linear_model(graph, (LOW, HIGH), np.random.default_rng(seed))
    np.testing.assert_array_equal(model.W_Z != 0, graph.Q.T)
    np.testing.assert_array_equal(model.W_X != 0, graph.R)
    least = WEIGHT_RANGE[0] / WEIGHT_RANGE[1] - 1e-12
    for weight, used in zip(np.abs(model.W_Z), graph.Q.T, strict=True):
        assert weight[used].min() >= least * weight[used].max()


def test_both_signs_are_drawn():
    signs = np.concatenate([np.sign(chain_model(seed).W_Z[0, :2]) for seed in range(20)])
    assert 10 < (signs > 0).sum() < 30


def test_other_noise_can_take_the_place_of_the_normal_one():
    model = chain_model()
    ones = model.system(lambda n_samples, _rng: np.ones((n_samples, 5)))
    x = ones.sample(Doing.nothing(3, 5), np.random.default_rng(0)).x
    expected = np.linalg.inv(np.eye(5) - model.W_X @ model.W_Z) @ np.ones(5)
    np.testing.assert_allclose(x, np.tile(expected, (3, 1)))


@pytest.mark.parametrize("seed", range(3))
def test_the_model_and_its_equations_are_one(seed):
    model = chain_model(seed)
    u = standard_normal(20, 5)
    x, z = (values.numpy() for values in model.scm.solve(u))
    np.testing.assert_allclose(z, x @ model.W_Z.T)
    np.testing.assert_allclose(x, z @ model.W_X.T + u, atol=1e-12)
    np.testing.assert_allclose(model.scm.noise_scale, model.noise_scale)


def test_every_variable_and_factor_has_variance_one():
    model = chain_model(3)
    x, z, _ = model.system().sample(Doing.nothing(40_000, 5), np.random.default_rng(0))
    np.testing.assert_allclose(x.var(axis=0), 1.0, atol=0.04)
    np.testing.assert_allclose(z.var(axis=0), 1.0, atol=0.04)
