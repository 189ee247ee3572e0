"""Taking one factor out of another."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import LINEAR, children, linear, measured, nothing_known
from ucad.solvers.search.disentangle import disentangle, remainder
from ucad.solvers.search.refinement import fit_variables

BOTH = [0, 1]


@pytest.fixture(scope="module")
def data():
    return measured()


def taken_apart(data, model, only=BOTH, causes=None):
    causes = nothing_known() if causes is None else causes
    return disentangle(data, model, causes, LINEAR, LINEAR, only=only)


def test_a_mixture_is_taken_apart(data):
    factors = [linear(data, [0], [1.0]), linear(data, [0, 1], [1.0, 1.0])]
    entangled = fit_variables(data, factors, children([2, 3, 4, 5], [4, 5]), LINEAR)
    apart = taken_apart(data, entangled)
    assert apart.score > entangled.score
    assert apart.factors[1].parents.tolist() == [1]
    assert not apart.R[[4, 5], 0].any()
    assert taken_apart(data, entangled, only=[]) is entangled


def test_a_model_that_breaks_known_layers_is_turned_down(data):
    factors = [linear(data, [0], [1.0]), linear(data, [0, 1], [1.0, 1.0])]
    entangled = fit_variables(data, factors, children([2, 3, 4, 5], [4, 5]), LINEAR)
    layers = [1 if j in (2, 3, 4, 5) else 0 for j in range(16)]
    assert taken_apart(data, entangled, causes=nothing_known(layers=layers)) is not entangled
    layers[2] = 0
    assert taken_apart(data, entangled, causes=nothing_known(layers=layers)) is entangled


def test_a_child_of_one_factor_in_place_of_its_parents_is_taken_out_of_the_other():
    """Without noise x2 is z, and a factor may look at x2 instead of x0."""

    def exact(x, _):
        x[:, 2] = x[:, 0]
        x[:, 3] = x[:, 0]

    data = measured(exact)
    factors = [linear(data, [0], [1.0]), linear(data, [1, 2], [1.0, 1.0])]
    entangled = fit_variables(data, factors, children([2, 3, 4, 5], [4, 5]), LINEAR)
    apart = taken_apart(data, entangled)
    assert apart.factors[1].parents.tolist() == [1]
    assert np.flatnonzero(apart.R[:, 0]).tolist() == [2, 3]


def test_a_parent_that_both_factors_have_is_kept():
    """z = x0 and y = x0 + x1, but y was found as z' + c x6 with z' = x0 + x6 beside it."""

    def shared(x, noise):
        x[:, 2:4] = (x[:, [0]] + x[:, [6]]) / np.sqrt(2) + noise[:, 2:4]
        x[:, 4:6] = (x[:, [0]] + x[:, [1]]) / np.sqrt(2) + noise[:, 4:6]

    data = measured(shared)
    factors = [linear(data, [0, 6], [1.0, 1.0]), linear(data, [0, 1, 6], [2.0, 1.0, 1.0])]
    entangled = fit_variables(data, factors, children([2, 3, 4, 5], [4, 5]), LINEAR)
    apart = taken_apart(data, entangled)
    assert apart.score > entangled.score
    assert apart.factors[1].parents.tolist() == [0, 1]
    assert np.flatnonzero(apart.R[:, 0]).tolist() == [2, 3]


def test_the_remainder_of_a_sum_is_the_other_summand(data):
    z, y = data.x[:, 0], data.x[:, 1]
    rest = remainder(data, z + 2 * y, z, np.array([1]), LINEAR)
    assert abs(np.corrcoef(rest.values(data.x), y)[0, 1]) > 1 - 1e-9


def test_a_model_that_is_right_is_left_alone(data):
    factors = [linear(data, [k], [1.0]) for k in (0, 1)]
    model = fit_variables(data, factors, children([2, 3], [4, 5]), LINEAR)
    assert taken_apart(data, model) is model


def test_a_parent_that_the_mixture_cancels_comes_back():
    """z = x0 + x6 and y = x1 + x6, but y was found as y − z = x1 − x0 beside z."""

    def shared(x, noise):
        x[:, 2:4] = (x[:, [0]] + x[:, [6]]) / np.sqrt(2) + noise[:, 2:4]
        x[:, 4:6] = (x[:, [1]] + x[:, [6]]) / np.sqrt(2) + noise[:, 4:6]

    data = measured(shared)
    factors = [linear(data, [0, 6], [1.0, 1.0]), linear(data, [0, 1], [-1.0, 1.0])]
    entangled = fit_variables(data, factors, children([2, 3, 4, 5], [4, 5]), LINEAR)
    apart = taken_apart(data, entangled)
    assert apart.score > entangled.score
    found = [
        (f.parents.tolist(), np.flatnonzero(R_k).tolist())
        for f, R_k in zip(apart.factors, apart.R.T, strict=True)
    ]
    assert sorted(found) == [([0, 6], [2, 3]), ([1, 6], [4, 5])]
