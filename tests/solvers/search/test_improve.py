"""One way to accept."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.solvers.search.two_factors import children, linear, measured, model_of, problem_of
from ucad.solvers.budget import Budget, BudgetEndedError
from ucad.solvers.search.improve import improve, tried
from ucad.solvers.search.model import Edit

TRUE = [([0], [1.0]), ([1], [1.0])]


@dataclass
class Recorded:
    """Proposes given edits, and remembers which factors it was asked for."""

    edits: tuple[Edit, ...]
    name: str = "recorded"

    def __post_init__(self):
        self.asked = []

    def propose(self, problem, model, only):
        self.asked.extend(only)
        yield from self.edits


@pytest.fixture(scope="module")
def problem():
    return problem_of(measured())


@pytest.fixture(scope="module")
def poor(problem):
    return model_of(problem, TRUE, [2], [4, 5])


def test_an_edit_that_helps_is_kept_and_one_that_does_not_is_not(problem, poor):
    good, bad = (Edit(children(its, [4, 5])) for its in ([2, 3], [2, 6]))
    assert improve(problem, poor, [Recorded((good, bad))]).R[3, 0]
    assert improve(problem, poor, [Recorded((bad,))]) is poor


def test_the_best_of_several_edits_is_kept(problem, poor):
    half = Edit(children([3], [4, 5]), {0: linear(problem.data, [0], [1.0])})
    whole = Edit(children([2, 3], [4, 5]))
    for edits in ((half, whole), (whole, half)):
        assert improve(problem, poor, [Recorded(edits)]).R[[2, 3], 0].all()


def test_an_edit_that_makes_a_cycle_is_not_tried(problem, poor):
    cycle = Edit(children([2, 1], [4, 0]))
    assert not problem.admissible.allows(cycle.Q(poor), cycle.R)
    assert tried(problem, poor, cycle) is None
    assert tried(problem, poor, Edit(poor.R)) is not None


def test_an_edit_far_out_of_reach_is_not_fitted_to_the_end(problem):
    good = model_of(problem, TRUE, [2, 3], [4, 5])
    hopeless = Edit(children([6], [7]))
    assert tried(problem, good, hopeless) is None


def test_a_move_is_asked_again_only_for_factors_that_changed(problem, poor):
    still, good = Recorded(()), Recorded((Edit(children([2, 3], [4, 5])),), "good")
    improve(problem, poor, [still, good])
    assert sorted(still.asked) == [0, 0, 1]


def test_every_move_is_told_and_the_budget_ends_it(problem, poor):
    told = []
    good = Recorded((Edit(children([2, 3], [4, 5])),))
    improve(problem, poor, [good], lambda name, model: told.append((name, model.score)))
    assert told[0][0] == "recorded"
    assert told[-1][1] > poor.score
    late = replace(problem, budget=Budget(1e-9))
    with pytest.raises(BudgetEndedError):
        improve(late, poor, [good])


def test_the_edit_says_which_parents_it_leads_to(problem, poor):
    edit = Edit(poor.R, {1: linear(problem.data, [0, 6], [1.0, 1.0])})
    assert np.flatnonzero(edit.Q(poor)[:, 1]).tolist() == [0, 6]
    assert np.flatnonzero(edit.Q(poor)[:, 0]).tolist() == [0]
