"""Sparse regressions of many targets at once."""

import numpy as np
import torch

from ucad.solvers.gradient.sparse_regression import sparse_regressions


def moments_of(x):
    """Moments of (x, 1), the same for every variable."""
    bordered = np.column_stack([x, np.ones(len(x))])
    one = torch.from_numpy(bordered.T @ bordered / len(x))
    return one.expand(x.shape[1], *one.shape).clone()


def problem():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 6))
    x[:, 3] = 2 * x[:, 0] - x[:, 1] + 0.1 * rng.standard_normal(2000)
    return x


def everything_but_itself(n):
    return ~torch.eye(n, dtype=torch.bool)


def test_coefficients_are_those_of_least_squares_on_the_chosen_features():
    x = problem()
    found = sparse_regressions(moments_of(x), torch.arange(6), everything_but_itself(6), 4, 0.02)
    chosen = np.flatnonzero(found.coefficients[3].numpy())
    assert chosen.tolist() == [0, 1]
    centred = x - x.mean(axis=0)
    expected = np.linalg.lstsq(centred[:, chosen], centred[:, 3], rcond=None)[0]
    np.testing.assert_allclose(found.coefficients[3, chosen].numpy(), expected, rtol=1e-5)
    left = centred[:, 3] - centred[:, chosen] @ expected
    np.testing.assert_allclose(float(found.variance[3]), left.var(), rtol=1e-6)


def test_a_target_that_nothing_explains_keeps_its_variance():
    x = problem()
    found = sparse_regressions(moments_of(x), torch.arange(6), everything_but_itself(6), 4, 0.02)
    assert not found.coefficients[5].any()
    np.testing.assert_allclose(float(found.variance[5]), x[:, 5].var(), rtol=1e-9)


def test_only_allowed_features_are_taken_and_at_most_so_many():
    x = problem()
    allowed = everything_but_itself(6)
    allowed[3, 0] = False
    found = sparse_regressions(moments_of(x), torch.arange(6), allowed, 4, 0.02)
    assert np.flatnonzero(found.coefficients[3].numpy()).tolist() == [1]
    single = sparse_regressions(moments_of(x), torch.arange(6), everything_but_itself(6), 1, 0.02)
    assert int((single.coefficients != 0).sum(dim=1).max()) == 1
