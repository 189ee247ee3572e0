"""Other parents, and further children."""

from tests.solvers.search.two_factors import (
    model_of,
    move_named,
    problem_of,
)
from ucad.solvers.search.improve import improve


def test_an_edge_that_was_overlooked_is_added_and_a_sibling_dropped(data):
    problem = problem_of(data)
    model = model_of(problem, [([0], [1.0]), ([1], [1.0])], [2, 3], [4])
    better = improve(problem, model, [move_named("other edges", data)])
    assert better.R[5].all()
    assert better.score > model.score
