"""Places of factors that nothing was found for."""

import numpy as np

from tests.solvers.search.two_factors import linear, measured, model_of, problem_of
from ucad.simulate import paper_problem
from ucad.solvers.search import fit_search
from ucad.solvers.search.fill_empty_factors import fill_empty_factors

TRUE = [([0], [1.0]), ([1], [1.0])]


def test_an_empty_place_goes_to_the_candidate_that_explains_most():
    problem = problem_of(measured())
    model = model_of(problem, TRUE, [2, 3], [])
    pool = [linear(problem.data, [i], [1.0]) for i in (6, 1)]
    filled = fill_empty_factors(problem, model, pool)
    assert filled.is_used.all()
    assert filled.factors[1].parents.tolist() == [1]
    assert filled.R[[4, 5], 1].all()


def test_without_candidates_a_factor_shares_its_children_with_a_copy():
    problem = problem_of(measured(), n_factors=3)
    model = model_of(problem, [*TRUE, ([6], [1.0])], [2, 3], [4, 5], [])
    filled = fill_empty_factors(problem, model, [])
    assert filled.is_used.all()
    assert filled.R.sum() == 4


def test_a_full_model_is_left_alone():
    problem = problem_of(measured())
    model = model_of(problem, TRUE, [2, 3], [4, 5])
    assert fill_empty_factors(problem, model, []) is model


def test_every_factor_that_was_asked_for_has_a_parent_and_a_child():
    problem = paper_problem("a", "16-3", seed=12, n_samples=3000)
    result = fit_search(problem.train, 3)
    assert result.scm.graph.Q.any(axis=0).all()
    assert result.scm.graph.R.any(axis=0).all()
    assert "filling empty places" in [row["stage"] for row in result.history]


def test_a_factor_too_many_is_filled_and_leaves_the_true_ones_alone():
    problem = paper_problem("b", "16-3", seed=0, n_samples=3000)
    learned = fit_search(problem.train, 4).scm.state_map(problem.test.x).numpy()
    correlation = np.corrcoef(learned.T, problem.factors.T)[:4, 4:]
    assert (np.abs(correlation).max(axis=0) > 0.999).all()


def test_an_empty_factor_is_credited_with_nothing():
    two, three = (problem_of(measured(), n_factors=number) for number in (2, 3))
    without = model_of(two, TRUE, [2, 3], [4, 5])
    with_empty = model_of(three, [*TRUE, ([6], [1.0])], [2, 3], [4, 5], [])
    assert with_empty.score <= without.score
