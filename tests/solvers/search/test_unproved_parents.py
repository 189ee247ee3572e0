import numpy as np

from ucad.data import Scaling
from ucad.scm.families import AFFINE
from ucad.simulate.worlds import world_problem
from ucad.solvers.problem import Problem
from ucad.solvers.search.search import Search


def _searched(problem):
    data = (
        problem.train
        if problem.train.scaling
        else problem.train.standardised(Scaling.of(problem.train.x))
    )
    return Search(Problem.of(data, problem.asked_factors, (AFFINE, AFFINE), seed=0)).run()


def test_siblings_of_regulators_do_not_become_parents_where_responses_are_bent():
    problem = world_problem("genes", 1)
    found = _searched(problem)
    never = ~problem.train.is_intervened.any(axis=0)
    assert any(row["stage"] == "parents never acted on" for row in found.trace)
    assert not found.model.Q[never].any()


def test_true_parents_that_were_never_acted_on_stay():
    problem = world_problem("screen-few-targets", 0)
    found = _searched(problem)
    assert (np.sort(found.model.Q.sum(axis=0)) == np.sort(problem.graph.Q.sum(axis=0))).all()
    assert all(row["stage"] != "parents never acted on" for row in found.trace)
