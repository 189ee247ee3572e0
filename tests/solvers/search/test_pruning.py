"""Edges that a model does better without."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import LINEAR, NONLINEAR, children, linear, measured
from ucad.solvers.search import Mechanisms, SearchConfig
from ucad.solvers.search.pruning import prune
from ucad.solvers.search.refinement import fit_variables

FOLDED = SearchConfig(variable_mechanism=Mechanisms.MLP).settings(2000, seed=0)


@pytest.fixture(scope="module")
def data():
    return measured()


@pytest.mark.parametrize("settings", [LINEAR, FOLDED])
def test_edges_that_fit_noise_go_and_others_stay(data, settings):
    """x6 and x7 have no causes; x2 has one."""
    factors = [linear(data, [0], [1.0]), linear(data, [1], [1.0])]
    model = fit_variables(data, factors, children([2, 3, 6], [2, 4, 5, 6, 7]), settings)
    pruned = prune(data, model, settings)
    assert (children([2, 3], [4, 5]) == pruned.R).all()
    assert pruned.score > model.score


def test_a_parent_of_no_use_goes(data):
    factors = [linear(data, [0, 9], [1.0, 0.01]), linear(data, [1], [1.0])]
    model = fit_variables(data, factors, children([2, 3], [4, 5]), LINEAR)
    assert prune(data, model, LINEAR).factors[0].parents.tolist() == [0]


def test_just_the_variables_asked_for_are_pruned(data):
    factors = [linear(data, [0], [1.0]), linear(data, [1], [1.0])]
    model = fit_variables(data, factors, children([2, 6], [4, 7]), NONLINEAR)
    pruned = prune(data, model, NONLINEAR, only=np.array([7]))
    assert pruned.R[6, 0]
    assert not pruned.R[7].any()
