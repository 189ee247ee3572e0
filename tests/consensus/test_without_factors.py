"""Models without factors."""

import numpy as np
import pytest

from ucad.consensus.without_factors import direct_model, independent_scm
from ucad.data import InterventionalData
from ucad.graph import topological_levels
from ucad.scm.families import AFFINE
from ucad.simulate import world_problem
from ucad.solvers.problem import Problem
from ucad.solvers.search.search import Search


def prepared(data):
    return Search(Problem.of(data.standardised(), 1, (AFFINE, AFFINE))).prepare()


def test_zero_factors_have_the_means_and_spreads_of_free_samples():
    x = np.array([[0.0, 5.0], [2.0, 9.0], [4.0, 9.0], [6.0, 0.0]])
    acted = np.array([[False, False]] * 3 + [[False, True]])
    scm = independent_scm(InterventionalData.from_arrays(x, acted))
    assert scm.state_map(x).shape == (4, 0)
    assert scm.expected_variables(np.zeros((1, 0)))[0].tolist() == pytest.approx([3.0, 23 / 3])
    assert scm.noise_scale.tolist() == pytest.approx([np.sqrt(5.0), np.sqrt(32 / 9)])


def test_a_random_dag_is_read_off_without_factors():
    problem = world_problem("sparse-dag", 0, n_samples=4000, n_variables=10)
    found = direct_model(prepared(problem.train))
    truth = problem.adjacency
    assert topological_levels(found.adjacency) is not None
    assert (found.adjacency != truth).sum() <= 1
    assert found.n_driven == found.scm.graph.n_factors


def test_independent_variables_have_no_causes():
    data = world_problem("independent", 0, n_samples=2000, n_variables=8).train
    assert direct_model(prepared(data)) is None
