"""Making one factor of two that stand for its parts."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import LINEAR, children, linear, measured, nothing_known
from ucad.solvers.search.merge import common_direction, merge
from ucad.solvers.search.refinement import fit_variables

ALL = [0, 1]


@pytest.fixture(scope="module")
def data():
    """z = 2 x0 + x1 → x2, x3 and x6 → x4, x5."""

    def sums(x, noise):
        x[:, 2:4] = (2 * x[:, [0]] + x[:, [1]]) / np.sqrt(5) + noise[:, 2:4]
        x[:, 4:6] = x[:, [6]] + noise[:, 4:6]

    return measured(sums)


@pytest.fixture(scope="module")
def split(data):
    """The factor found in two parts, and no place left for the other one."""
    factors = [linear(data, [0], [1.0]), linear(data, [1], [1.0])]
    return fit_variables(data, factors, children([2, 3], [2, 3]), LINEAR)


def merged(data, model, pool=(), only=ALL, causes=None):
    causes = nothing_known() if causes is None else causes
    return merge(data, model, pool, causes, LINEAR, LINEAR, only=only)


def test_two_parts_of_a_factor_become_one(data, split):
    one = merged(data, split)
    assert one.score > split.score
    assert [f.parents.tolist() for f in one.factors] == [[0, 1], []]
    z = 2 * data.x[:, 0] + data.x[:, 1]
    assert abs(np.corrcoef(one.state[:, 0], z)[0, 1]) > 0.999
    assert merged(data, split, only=[]) is split


def test_the_free_place_goes_to_what_is_missing(data, split):
    pool = [linear(data, [7], [1.0]), linear(data, [6], [1.0])]
    one = merged(data, split, pool)
    assert one.factors[1].parents.tolist() == [6]
    assert np.flatnonzero(one.R[:, 1]).tolist() == [4, 5]


def test_layers_are_kept(data, split):
    layers = [1 if j in (2, 3) else 0 for j in range(16)]
    assert merged(data, split, causes=nothing_known(layers=layers)) is not split
    layers[3] = 0
    assert merged(data, split, causes=nothing_known(layers=layers)) is split


def test_factors_that_children_need_apart_are_left_alone():
    def apart(x, noise):
        x[:, 2] = x[:, 0] + x[:, 1] + noise[:, 2]
        x[:, 3] = x[:, 0] - x[:, 1] + noise[:, 3]

    data = measured(apart)
    factors = [linear(data, [0], [1.0]), linear(data, [1], [1.0])]
    model = fit_variables(data, factors, children([2, 3], [2, 3]), LINEAR)
    assert common_direction(data, model, 0, 1) is None
    assert merged(data, model) is model


def test_the_common_direction_is_that_of_the_weights(data, split):
    direction = common_direction(data, split, 0, 1)
    weights = np.array([2 * data.x[:, 0].std(), data.x[:, 1].std()])
    assert abs(direction @ weights) == pytest.approx(np.linalg.norm(weights), rel=1e-3)
