"""Edges that a model does better without."""

from dataclasses import replace

import numpy as np
import pytest

from tests.solvers.search.two_factors import (
    CLASSES,
    N_VARIABLES,
    children,
    measured,
    model_of,
    problem_of,
)
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.regression.fitting import THOROUGH
from ucad.solvers.search.pruning import prune

TRUE = [([0], [1.0]), ([1], [1.0])]


@pytest.fixture(scope="module")
def data():
    return measured(n_samples=2000)


@pytest.mark.parametrize("name", ["linear", "curved variables"])
def test_edges_that_fit_noise_go_and_others_stay(data, name):
    """x6 and x7 have no causes; x2 has one."""
    problem = problem_of(data, CLASSES[name])
    model = model_of(problem, TRUE, [2, 3, 6], [2, 4, 5, 6, 7])
    pruned = prune(problem, model, THOROUGH)
    assert (children([2, 3], [4, 5]) == pruned.R).all()
    assert pruned.score > model.score


def test_a_parent_of_no_use_goes(data):
    problem = problem_of(data)
    model = model_of(problem, [([0, 7], [1.0, 0.01]), TRUE[1]], [2, 3], [4, 5])
    assert prune(problem, model, THOROUGH).factors[0].parents.tolist() == [0]


def test_just_the_variables_asked_for_are_pruned(data):
    problem = problem_of(data)
    model = model_of(problem, TRUE, [2, 6], [4, 7])
    pruned = prune(problem, model, THOROUGH, only=[7])
    assert pruned.R[6, 0]
    assert not pruned.R[7].any()


def test_an_edge_that_the_prior_requires_stays(data):
    required = np.zeros((N_VARIABLES, 2), dtype=bool)
    required[7, 0] = True
    problem = problem_of(data, prior=PriorKnowledge(required_parent=required))
    problem = replace(problem, admissible=problem.admissible.labelled())
    model = model_of(problem, [([0, 7], [1.0, 0.01]), TRUE[1]], [2, 3, 6], [4, 5])
    pruned = prune(problem, model, THOROUGH)
    assert pruned.Q[7, 0]
    assert not pruned.R[6].any()
