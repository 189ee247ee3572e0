"""A variable as a function of one linear factor."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import CLASSES, linear, measured, problem_of
from ucad.solvers.search.single_index import (
    fit_along,
    leading_direction,
    sparse_directions,
)

PARENTS = [0, 1, 5, 6, 7]
WEIGHTS = np.array([1.0, -0.8, 0.5, 0.4, -0.3])


@pytest.fixture(scope="module")
def problem():
    """x4 = g(a·x) with a function g that is not monotone; x2 is a noisy copy of a·x."""

    def ridge(x, noise):
        x[:, [3, 5]] = noise[:, [3, 5]] / 0.3
        z = x[:, PARENTS] @ WEIGHTS / np.linalg.norm(WEIGHTS)
        x[:, 2] = z + noise[:, 2]
        x[:, 4] = np.sin(1.5 * z) + 0.3 * z**2 + noise[:, 4]

    return problem_of(measured(ridge, n_samples=2000), CLASSES["curved variables"])


def test_the_direction_is_found_beside_a_function_that_is_not_monotone(problem):
    fitter = problem.fitter(problem.variable_family)
    start = linear(problem.data, PARENTS, np.sign(WEIGHTS))
    index = fit_along(problem.data, 4, start, problem.regression(4), fitter)
    z = problem.data.x[:, PARENTS] @ WEIGHTS
    assert abs(np.corrcoef(start.values(problem.data.x), z)[0, 1]) < 0.95
    assert abs(np.corrcoef(index.factor.values(problem.data.x), z)[0, 1]) > 0.99
    assert index.error < 0.15


def test_the_leading_direction_is_that_of_the_gradients():
    gradient = np.outer([1.0, -2.0, 0.5], [3.0, 4.0])
    direction = leading_direction(gradient, np.array([5, 6]))
    np.testing.assert_allclose(np.abs(direction.w), [0.6, 0.8])
    assert direction.parents.tolist() == [5, 6]


def test_the_sparse_directions_of_a_plane_are_found():
    one, other = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0, 1.0])
    span, _ = np.linalg.qr(np.stack([one + other, one - 2 * other], axis=1))
    directions = list(sparse_directions(span))[1:]
    cosines = [[abs(d @ v) / np.sqrt(2) for d in directions] for v in (one, other)]
    assert all(max(each) > 0.999 for each in cosines)
    assert len(list(sparse_directions(span[:, :1]))) == 1
