"""Other parents, and further children."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import (
    linear,
    measured,
    model_of,
    problem_of,
)
from ucad.solvers.search.improve import improve
from ucad.solvers.search.moves import moves_for


def mixed(x, noise):
    """x5 hangs on both factors, and x3 bends what it reads."""
    x[:, 5] = x[:, 1] + x[:, 0] + noise[:, 5]
    x[:, 3] = np.sin(1.5 * x[:, 0]) + noise[:, 3]


@pytest.fixture(scope="module")
def data():
    return measured(mixed, n_samples=500)


def move_named(name, data):
    """The move, with candidates of which two are the true factors."""
    pool = [linear(data, [i], [1.0]) for i in (0, 1, 6)]
    (move,) = (move for move in moves_for(pool) if move.name == name)
    return move


def test_an_edge_that_was_overlooked_is_added_and_a_sibling_dropped(data):
    problem = problem_of(data)
    model = model_of(problem, [([0], [1.0]), ([1], [1.0])], [2, 3], [4])
    better = improve(problem, model, [move_named("other edges", data)])
    assert better.R[5].all()
    assert better.score > model.score
