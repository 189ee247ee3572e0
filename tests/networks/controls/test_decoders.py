"""Decoders of controls: tables of two-valued factors decode what they hold, and no more."""

import numpy as np
import torch

from ucad.networks.controls.decoders import fit_tables


def test_a_table_gives_the_mean_of_every_cell_of_factors_and_context():
    rng = np.random.default_rng(0)
    z, w = rng.choice([-1.0, 1.0], size=(2, 600, 1)), rng.integers(2, size=(600, 1)) * 1.0
    y = np.c_[z[0, :, 0] * (2 * w[:, 0] - 1), np.ones(600)]
    found = fit_tables(z, y, w)
    made = found.one(0, torch.from_numpy(z[0]), torch.from_numpy(w)).numpy()
    np.testing.assert_allclose(made, y, atol=0.01)
    assert found.r_squared[0] > 0.99
    assert abs(found.r_squared[1]) < 0.05


def test_too_many_cells_are_no_table():
    z, w = np.ones((1, 50, 2)), np.random.default_rng(0).normal(size=(50, 1))
    assert fit_tables(z, np.ones((50, 1)), w) is None
