"""The parents of a factor, by what its children say of it."""

import numpy as np

from tests.solvers.search.two_factors import CLASSES, measured, problem_of
from ucad.solvers.regression.fitting import Regression
from ucad.solvers.search.causes import MAX_CANDIDATES
from ucad.solvers.search.factor_parents import likely_parents, select_parents


def test_the_variables_that_predict_the_target_are_selected_in_any_class():
    for families in (CLASSES["linear"], CLASSES["curved factors"]):
        problem = problem_of(measured(), families)
        x = problem.data.x
        said = Regression(x[:, 0] - 0.7 * x[:, 6], np.ones(len(x)))
        found = select_parents(problem, said, np.array([0, 1, 6, 7]), backward=True)
        assert found.tolist() == [0, 6]


def test_samples_without_weight_say_nothing():
    problem = problem_of(measured())
    x, weights = problem.data.x, np.ones(len(problem.data.x))
    target = np.where(np.arange(len(x)) < 400, x[:, 0], x[:, 1])
    weights[400:] = 0.0
    found = select_parents(problem, Regression(target, weights), np.array([0, 1]), backward=True)
    assert found.tolist() == [0]


def test_of_very_many_the_current_ones_and_the_most_correlated_stay():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, MAX_CANDIDATES + 20))
    problem = problem_of(type(measured()).from_arrays(x).standardised())
    said = Regression(problem.data.x[:, 5], np.ones(len(x)))
    found = likely_parents(problem.data, said, np.arange(x.shape[1]), np.array([80]))
    assert len(found) == MAX_CANDIDATES
    assert {5, 80} <= set(found.tolist())
