"""The rectified solver: exact factors from the active side of ReLU units."""

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.metrics import compare_structure, mean_correlation
from ucad.solvers.layered.rectified import fit_rectified


def rectified_data(seed: int, *, dense: bool = False):
    """10 units, two factors with exclusive and shared parents and children, 10 rectified units."""
    rng = np.random.default_rng(seed)
    Q, R = np.zeros((10, 2), dtype=bool), np.zeros((10, 2), dtype=bool)
    for unit in range(10):
        Q[unit, unit % 2] = R[unit, unit % 2] = True
    Q[8:], R[8:] = True, True
    W = np.where(Q, rng.choice([-1, 1], (10, 2)) * rng.uniform(0.5, 1.5, (10, 2)), 0.0)
    V = np.where(R, rng.choice([-1, 1], (10, 2)) * rng.uniform(0.5, 1.5, (10, 2)), 0.0)
    x = np.maximum(0, rng.normal(size=(3000, 10)))
    slope = rng.normal(size=(10, 10)) if dense else W @ V.T
    y = np.maximum(0, (x - x.mean(axis=0)) @ slope + 0.2)
    data = InterventionalData.from_arrays(np.c_[x, y], layer_of=[0] * 10 + [1] * 10)
    nothing = np.zeros_like(Q)
    return data, x @ W, (np.r_[Q, nothing], np.r_[nothing, R])


@pytest.mark.parametrize("seed", range(3))
def test_planted_factors_and_their_graph_are_recovered_exactly(seed):
    data, z, graph = rectified_data(seed)
    result = fit_rectified(data, 2)
    assert result.status.converged
    assert mean_correlation(result.scm.state_map(data.x).numpy(), z).values.min() > 0.999
    found = compare_structure((result.scm.graph.Q, result.scm.graph.R), graph)
    assert found.Q.shd == found.R.shd == 0


@pytest.mark.parametrize("seed", range(3))
def test_standardised_data_give_the_same_factors(seed):
    data, _, _ = rectified_data(seed)
    standard = data.standardised()
    plain, scaled = fit_rectified(data, 2).scm, fit_rectified(standard, 2).scm
    np.testing.assert_array_equal(plain.graph.Q, scaled.graph.Q)
    np.testing.assert_allclose(plain.state_map(data.x), scaled.state_map(standard.x), atol=1e-8)


def test_a_budget_that_ends_gives_a_model_and_says_so():
    data, _, _ = rectified_data(0, dense=True)
    status = fit_rectified(data, 2, max_seconds=1e-6).status
    assert not status.converged
    assert status.reason == "The budget of 1e-06 s ended."


def test_the_decoder_remakes_the_rectified_units():
    data, _, _ = rectified_data(0)
    scm = fit_rectified(data, 2).scm
    error = scm.expected_variables(scm.state_map(data.x)).numpy()[:, 10:] - data.x[:, 10:]
    assert (error**2).mean() < 1e-3 * data.x[:, 10:].var()


def test_a_dense_pair_is_reported_not_to_have_the_rank():
    data, _, _ = rectified_data(0, dense=True)
    status = fit_rectified(data, 2).status
    assert not status.converged
    assert status.violations["rank"] > 0.1
