"""Binary factors: two-valued directions of a layer, and factors beside them."""

import numpy as np
import pytest
import torch

from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.solvers.layered.binary_factors import (
    BinaryFactor,
    BinaryFactorSearch,
    two_means,
    two_valued_direction,
)
from ucad.solvers.layered.bottleneck import BottleneckConfig, fit_bottleneck

SEARCH = BinaryFactorSearch(n_factors=3, hidden=24, epochs=10)
CONFIG = BottleneckConfig(epochs=20, batch_size=256, hidden=24, binary_factor=SEARCH)


def layered(first_factor, seed=0, n=4000):
    """Two factors mixed densely into 6 units and remade, through ReLU, as 6 others."""
    rng = np.random.default_rng(seed)
    z = np.c_[first_factor(rng, n), rng.normal(size=n)]
    x = z @ rng.normal(size=(2, 6)) + 0.05 * rng.normal(size=(n, 6))
    reading, writing = np.linalg.pinv(rng.normal(size=(2, 6))), rng.normal(size=(2, 6))
    y = np.maximum(0, x @ reading @ writing + 0.5 * rng.uniform(size=6))
    return InterventionalData.from_arrays(np.c_[x, y], layer_of=[0] * 6 + [1] * 6), z


def coin(rng, n):
    return rng.choice([-1.0, 1.0], n)


@pytest.fixture(scope="module")
def with_coin():
    data, z = layered(coin)
    return data, z, fit_bottleneck(data, 2, config=CONFIG)


def test_two_means_splits_at_the_middle_of_the_clusters_not_at_the_mean():
    values = np.r_[np.zeros(90), np.linspace(0.9, 1.1, 10)]
    assert two_means(values).tolist() == [False] * 90 + [True] * 10


def test_the_direction_is_fishers_discriminant_of_the_true_clusters():
    rng = np.random.default_rng(3)
    labels = rng.choice([False, True], 3000)
    x = np.where(labels[:, None], 3.0, -3.0) * rng.normal(size=5) + rng.normal(size=(3000, 5))
    found = two_valued_direction(x, x[labels].mean(axis=0) - x[~labels].mean(axis=0))
    within = (np.cov(x[labels].T, bias=True) * labels.mean()) + (
        np.cov(x[~labels].T, bias=True) * (~labels).mean()
    )
    fisher = np.linalg.solve(within, x[labels].mean(axis=0) - x[~labels].mean(axis=0))
    assert np.dot(found, fisher) / np.linalg.norm(found) / np.linalg.norm(fisher) > 0.9999


def test_units_that_never_change_do_not_harm_the_direction():
    rng = np.random.default_rng(4)
    values = coin(rng, 500)
    x = np.c_[values + 0.1 * rng.normal(size=500), np.zeros(500)]
    assert abs(np.corrcoef(x @ two_valued_direction(x, np.ones(2)), values)[0, 1]) > 0.99


def test_a_binary_factor_is_one_or_minus_one_away_from_the_middle():
    x = np.r_[np.linspace(-1.2, -0.8, 50), np.linspace(0.8, 1.2, 50)][:, None] + 7
    values = BinaryFactor.along(x, np.ones(1))(x)
    assert np.abs(values).min() > 0.99
    assert (values > 0).sum() == 50


def test_a_coin_becomes_a_binary_factor_and_the_other_factor_is_uncorrelated_with_it(with_coin):
    data, z, result = with_coin
    learned = result.scm.state_map(data.x).numpy()
    assert result.history[0]["binary_factor"] == "yes"
    assert abs(np.corrcoef(learned[:, 0], z[:, 0])[0, 1]) > 0.999
    assert abs(np.corrcoef(learned[:, 1], z[:, 1])[0, 1]) > 0.95
    assert np.allclose(np.cov(learned.T, bias=True), np.eye(2), atol=1e-4)
    assert float(result.history[0]["r2"]) > 0.95


def test_the_decoder_of_the_scm_is_the_one_that_was_trained(with_coin):
    data, _, result = with_coin
    scm = result.scm
    error = (scm.expected_variables(scm.state_map(data.x)).numpy() - data.x)[:, 6:]
    assert np.allclose(np.sqrt((error**2).mean(axis=0)), scm.noise_scale.numpy()[6:], rtol=1e-3)


def test_without_a_two_valued_direction_the_pair_has_no_binary_factor():
    data, _ = layered(lambda rng, n: rng.uniform(-1.7, 1.7, n))
    result = fit_bottleneck(data, 2, config=CONFIG)
    assert result.history[0]["binary_factor"] == "no"
    assert result.scm.factor_mechanism.is_affine


def test_of_two_coins_the_one_that_the_decision_needs_is_found_by_behaviour():
    rng = np.random.default_rng(6)
    idle, needed = coin(rng, 3000), coin(rng, 3000) + 0.15 * rng.normal(size=3000)
    x = np.c_[idle, needed] @ rng.normal(size=(2, 4)) + 0.01 * rng.normal(size=(3000, 4))
    y = np.c_[2 * idle, needed]
    data = InterventionalData.from_arrays(np.c_[x, y], layer_of=[0] * 4 + [1] * 2)
    related = []
    for by_behaviour in (False, True):
        search = BinaryFactorSearch(n_factors=1, hidden=16, epochs=10, by_behaviour=by_behaviour)
        config = BottleneckConfig(
            epochs=1,
            batch_size=256,
            hidden=16,
            binary_factor=search,
            readouts=(lambda units: 5 * units[:, 1:],),
            behaviour_weight=20.0,
        )
        first = fit_bottleneck(data, 2, config=config).scm.state_map(data.x)[:, 0].numpy()
        related.append(abs(np.corrcoef(first, needed > 0)[0, 1]))
    assert related[0] < 0.1
    assert related[1] > 0.99


def test_settings_and_readouts_are_checked():
    data, _ = layered(coin, n=50)
    with pytest.raises(InvalidInputError, match="'epochs' setting of BinaryFactorSearch"):
        BinaryFactorSearch(epochs=0)
    with pytest.raises(InvalidInputError, match="one entry per pair of layers, 1. Got 2"):
        fit_bottleneck(data, 2, config=BottleneckConfig(readouts=(torch.relu, torch.relu)))
