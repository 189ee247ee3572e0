"""A variable as a function of one linear factor."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import linear, measured
from ucad.solvers.search import Mechanisms, SearchConfig
from ucad.solvers.search.single_index import fit_single_index

PARENTS = [0, 1, 6, 7, 8]
WEIGHTS = np.array([1.0, -0.8, 0.5, 0.4, -0.3])


@pytest.fixture(scope="module")
def data():
    """x4 = g(a·x) with a function g that is not monotone; x2 is a noisy copy of a·x."""

    def ridge(x, noise):
        z = x[:, PARENTS] @ WEIGHTS / np.linalg.norm(WEIGHTS)
        x[:, 2] = z + noise[:, 2]
        x[:, 4] = np.sin(1.5 * z) + 0.3 * z**2 + noise[:, 4]

    return measured(ridge)


def found(data, start, allowed):
    config = SearchConfig(variable_mechanism=Mechanisms.MLP).settings(data.n_samples, seed=0)
    return fit_single_index(data, 4, start, np.array(allowed), config.variable_fit)


@pytest.mark.parametrize("start", [[0], [0, 1], [0, 9, 10, 11]])
def test_all_parents_are_found_and_no_others(data, start):
    others = [i for i in range(16) if i not in (2, 3, 4, 5)]
    index = found(data, linear(data, start, [1.0] * len(start)), others)
    assert index.factor.parents.tolist() == PARENTS
    z = data.x[:, PARENTS] @ WEIGHTS
    assert abs(np.corrcoef(index.factor.values(data.x), z)[0, 1]) > 0.999


def test_a_noisy_copy_of_the_factor_goes_once_its_parents_are_there(data):
    others = [i for i in range(16) if i not in (3, 4, 5)]
    index = found(data, linear(data, [0, 1, 2], [1.0, -0.8, 1.0]), others)
    assert index.factor.parents.tolist() == PARENTS


def test_the_error_is_that_of_the_function_of_the_factor(data):
    index = found(data, linear(data, [0], [1.0]), [0, 1])
    z = index.factor.values(data.x)[:, None]
    left = data.x[:, 4] - index.function.values(z)
    assert index.error == pytest.approx(np.mean(left**2))
    assert set(index.factor.parents) <= {0, 1}
