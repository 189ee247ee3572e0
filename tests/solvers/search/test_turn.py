"""Turning round what stands before a factor instead of after it."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import (
    NONLINEAR,
    children,
    linear,
    measured,
    nothing_known,
)
from ucad.solvers.search.refinement import fit_variables
from ucad.solvers.search.turn import turn


@pytest.fixture(scope="module")
def data():
    """Besides the two factors, x7 = x8 + … + x12 with noise."""

    def collider(x, noise):
        x[:, 7] = x[:, 8:13].sum(axis=1) / np.sqrt(5) + noise[:, 7]

    return measured(collider)


def turned(data, model, causes=None, only=(0, 1)):
    causes = nothing_known() if causes is None else causes
    return turn(data, model, causes, NONLINEAR, NONLINEAR, only=only)


def test_a_child_taken_for_a_parent_is_turned_round(data):
    factors = [linear(data, [0, 2], [1.0, 1.0]), linear(data, [1], [1.0])]
    model = fit_variables(data, factors, children([3], [4, 5]), NONLINEAR)
    better = turned(data, model)
    assert better.score > model.score
    assert better.factors[0].parents.tolist() == [0]
    assert np.flatnonzero(better.R[:, 0]).tolist() == [2, 3]


def test_a_child_taken_for_the_cause_of_its_own_parents_is_turned_round(data):
    factors = [linear(data, [7], [1.0]), linear(data, [1], [1.0])]
    model = fit_variables(data, factors, children([8, 9, 10], [4, 5]), NONLINEAR)
    better = turned(data, model)
    assert better.factors[0].parents.tolist() == [8, 9, 10, 11, 12]
    assert np.flatnonzero(better.R[:, 0]).tolist() == [7]
    assert turned(data, model, only=[1]) is model


def test_what_interventions_show_is_not_turned_round(data):
    factors = [linear(data, [7], [1.0]), linear(data, [1], [1.0])]
    model = fit_variables(data, factors, children([8, 9, 10], [4, 5]), NONLINEAR)
    known = nothing_known(ancestors=[(7, j) for j in range(8, 13)])
    assert 7 in turned(data, model, known).factors[0].parents


def test_known_layers_are_not_turned_round(data):
    factors = [linear(data, [7], [1.0]), linear(data, [1], [1.0])]
    model = fit_variables(data, factors, children([8, 9, 10], [4, 5]), NONLINEAR)
    layers = [1 if j in (4, 5, *range(8, 13)) else 0 for j in range(16)]
    assert turned(data, model, nothing_known(layers=layers)) is model


def test_a_model_that_is_right_is_left_alone(data):
    factors = [linear(data, [k], [1.0]) for k in (0, 1)]
    model = fit_variables(data, factors, children([2, 3], [4, 5]), NONLINEAR)
    assert turned(data, model) is model
