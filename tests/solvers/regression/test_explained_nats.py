"""What each column alone explains of each variable."""

import numpy as np

from ucad.scm.families import AFFINE, NETWORK
from ucad.solvers.regression import explained_nats as module
from ucad.solvers.regression.explained_nats import explained_nats


def test_the_nats_of_one_column_are_those_of_its_regression():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, 2))
    x[:, 1] += x[:, 0]
    nats = explained_nats(x, x, np.zeros(x.shape, dtype=bool), AFFINE)
    share = np.corrcoef(x.T)[0, 1] ** 2
    np.testing.assert_allclose(nats[1, 0], -250 * np.log(1 - share), rtol=1e-3)


def test_a_bend_is_explained_by_functions_and_not_by_lines():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1000, 2))
    x[:, 1] = x[:, 0] ** 2 - 1 + 0.3 * x[:, 1]
    free = np.zeros(x.shape, dtype=bool)
    assert explained_nats(x, x, free, NETWORK)[1, 0] > 500
    assert explained_nats(x, x, free, AFFINE)[1, 0] < 20


def test_blocks_of_columns_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    x, clamped = rng.standard_normal((300, 5)), rng.random((300, 5)) < 0.2
    x[:, 1:] += x[:, :1]
    whole = explained_nats(x, x, clamped, NETWORK)
    monkeypatch.setattr(module, "FEATURES_AT_ONCE", 600)
    np.testing.assert_allclose(explained_nats(x, x, clamped, NETWORK), whole, rtol=1e-3, atol=1e-3)
