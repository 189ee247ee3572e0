"""A model of a given graph, and the score of the truth."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import CLASSES, children, measured, problem_of
from ucad.graph import FactorGraph
from ucad.scm.families import AFFINE
from ucad.simulate import paper_problem
from ucad.solvers.search import fit_search, oracle_score
from ucad.solvers.search.given_graph import model_of_graph


@pytest.mark.parametrize("families", CLASSES.values(), ids=CLASSES)
def test_a_model_of_a_graph_has_that_graph_and_explains_its_children(families):
    problem = problem_of(measured(n_samples=400), families)
    Q, R = children([0], [1]), children([2, 3], [4, 5])
    model = model_of_graph(problem, Q, R)
    assert (model.Q == Q).all()
    assert (model.R == R).all()
    assert (model.errors[2:6] < 0.2).all()
    empty = model_of_graph(problem, np.zeros_like(Q), np.zeros_like(R))
    assert model.score > empty.score


def test_a_search_reaches_the_score_of_the_truth_and_a_wrong_graph_does_not():
    problem = paper_problem("b", "16-3", seed=1, n_samples=3000)
    graph, linear = problem.scm.graph, (AFFINE, AFFINE)
    found = fit_search(problem.train, 3).history[-1]["score"]
    truth = oracle_score(problem.train, graph, linear).history[-1]["score"]
    wrong = oracle_score(problem.train, turned(graph), linear).history[-1]["score"]
    assert found >= truth - 1e-3
    assert wrong < truth


def turned(graph):
    """The same edges between other variables."""
    return FactorGraph(np.roll(graph.Q, 1, axis=0), np.roll(graph.R, 1, axis=0))
