"""Claims about moves of models of counts: what the working response alone gets wrong."""

import numpy as np

import ucad
from ucad.metrics import Correlation, mean_correlation
from ucad.scm.families.affine import Affine
from ucad.simulate.worlds import world_problem
from ucad.solvers.search.count_moves import _taken_out


def test_a_parent_that_only_the_likelihood_of_counts_sees_is_found():
    problem = world_problem("counts-90", 0)
    model = ucad.UCAD(3, noise="counts").fit(problem.train)
    found = np.asarray(model.graph_.variable_adjacency)
    assert (found == problem.graph.variable_adjacency).all()
    z = model.transform(problem.test)
    assert mean_correlation(z, problem.factors, Correlation.PEARSON).mean > 0.98


def test_a_factor_is_taken_out_of_a_sum_that_holds_it():
    own = Affine(np.array([3, 5]), np.array([1.0, -2.0]), 0.5)
    other = Affine(np.array([0, 1, 2]), np.array([1.0, 2.0, -1.0]), 1.0)
    mixed = Affine(np.array([0, 1, 2, 3, 5]), np.array([0.5, 1.02, -0.49, 1.0, -2.0]), 1.0)
    apart = _taken_out(mixed, other)
    assert apart.parents.tolist() == own.parents.tolist()
    np.testing.assert_allclose(apart.w, own.w)
    assert abs(apart.b - own.b) < 0.02


def test_factors_that_share_parents_by_chance_stay():
    one = Affine(np.array([0, 1, 3]), np.array([1.0, 1.0, 1.0]), 0.0)
    other = Affine(np.array([0, 1, 4]), np.array([1.0, -1.0, 1.0]), 0.0)
    assert _taken_out(one, other) is None
    assert _taken_out(one, Affine(np.array([0]), np.array([1.0]), 0.0)) is None
