"""Pair after pair, put together in the units of the data."""

import numpy as np
import torch

from ucad.data import InterventionalData
from ucad.scm import LinearMechanism
from ucad.solvers.budget import Budget
from ucad.solvers.layered.fit_pairs import PairFit, fit_pairs
from ucad.solvers.layered.layer_pairs import layer_pairs
from ucad.solvers.layered.pair_model import PairModel, network
from ucad.solvers.status import FitStatus

DONE = FitStatus(converged=True, feasible=True, reason="Done.")


def constant_pair(data, *, interrupted=False):
    """A model of one pair whose factor is the mean of its causes, and moves nothing."""
    n, m = data.x.shape[1], data.y.shape[1]
    weight = torch.full((1, n), 1.0 / n, dtype=torch.float64)
    encoder = LinearMechanism(weight, torch.zeros(1, dtype=torch.float64))
    decoder = network(np.zeros((m, 1, 1)), np.zeros((m, 1)), np.zeros((m, 1)), data.y.mean(axis=0))
    none = np.zeros(0, dtype=np.int64)
    model = PairModel(data.pair.causes, data.pair.effects, encoder, decoder, np.ones(m), none)
    return PairFit(model, {"r2": 0.0}, interrupted)


def test_models_come_back_in_the_units_of_the_data_and_later_pairs_hear_of_a_stop():
    x = 5.0 + 3.0 * np.random.default_rng(0).normal(size=(50, 6))
    data = InterventionalData.from_arrays(x, layer_of=[0, 0, 1, 1, 2, 2])
    heard = []

    def fit_pair(number, pair, stopped):
        heard.append(stopped)
        return constant_pair(pair, interrupted=number == 0)

    pairs = layer_pairs(data, 2)
    result = fit_pairs(data, pairs, fit_pair, lambda _: DONE, None, Budget())
    assert heard == [False, True]
    assert result.status.interrupted
    assert [row["pair"] for row in result.history] == [0, 1]
    expected = result.scm.expected_variables(result.scm.state_map(data.x)).numpy()
    np.testing.assert_allclose(expected, np.tile(x.mean(axis=0), (50, 1)), atol=1e-9)
