"""What a search says it cannot know."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import linear, measured, model_of, nothing_known, problem_of
from ucad.data import InterventionalData
from ucad.scm.families import EMPTY
from ucad.simulate.worlds import screen_problem
from ucad.solvers.regression.fitting import THOROUGH
from ucad.solvers.search import fit_search
from ucad.solvers.search.causes import find_causes
from ucad.solvers.search.model import fit_variables
from ucad.solvers.search.notes import fit_status, open_directions

TRUE = [([0], [1.0]), ([1], [1.0])]


@pytest.fixture(scope="module")
def problem():
    return problem_of(measured())


def test_a_right_model_meets_all_constraints(problem):
    status = fit_status(problem, model_of(problem, TRUE, [2, 3], [4, 5]), None)
    assert status.converged
    assert status.feasible
    assert not status.open_directions


def test_a_factor_without_an_anchor_of_its_own_is_a_violation(problem):
    model = model_of(problem, [([0, 1], [1.0, 1.0]), TRUE[0]], [2, 4], [2])
    status = fit_status(problem, model, None, interrupted=True)
    assert set(status.violations) == {"in-anchor of Z2", "out-anchor of Z2"}
    assert status.interrupted
    assert not status.converged


def test_empty_and_collinear_factors_are_named(problem):
    R = np.zeros((8, 2), dtype=bool)
    R[[2, 3], 0] = True
    empty = fit_variables(problem, [linear(problem.data, *TRUE[0]), EMPTY], R, THOROUGH)
    assert any("Z2 explains nothing" in note for note in fit_status(problem, empty, None).notes)
    twice = fit_status(problem, model_of(problem, [TRUE[0], TRUE[0]], [2], [3]), None)
    assert any("Z1 and Z2 are collinear" in note for note in twice.notes)


@pytest.mark.parametrize("target", [None, 0, 2])
def test_a_pair_that_was_never_acted_on_has_no_direction(target):
    """Acting on the cause far from rest, or on the effect, shows it."""
    data = measured()
    x, clamped = data.x.copy(), np.zeros(data.x.shape, dtype=bool)
    if target is not None:
        clamped[:200, target] = True
        x[:200, target] = np.random.default_rng(0).standard_normal(200)
        if target == 0:
            x[:200, 2] = 0.95 * x[:200, 0] + 0.3 * np.random.default_rng(1).standard_normal(200)
    problem = problem_of(InterventionalData.from_arrays(x, clamped))
    known, causes = find_causes(problem)
    model = model_of(known, TRUE, [2], [4, 5])
    assert ((0, 2) in open_directions(known, model, causes)) == (target is None)


def test_directions_within_a_triangle_that_cannot_be_turned_are_not_open(problem):
    """x4 and x5 hang on x1 alone: both edges can be turned, one at a time; a collider's cannot."""
    collider = model_of(problem, [([0, 1], [1.0, 1.0]), TRUE[1]], [2], [4])
    is_open = open_directions(problem, collider, nothing_known())
    assert (1, 4) in is_open
    assert (0, 2) not in is_open


def test_layers_leave_no_direction_open(problem):
    layered = problem_of(measured(layers=[0, 0, 1, 1, 1, 1, 0, 0]))
    model = model_of(layered, TRUE, [2], [4])
    assert open_directions(layered, model, nothing_known()) == []
    assert open_directions(problem, model_of(problem, TRUE, [2], [4]), nothing_known())


def test_data_without_interventions_and_regimes_that_are_no_clamps_are_named():
    still = screen_problem(0, clamp="knockdown", share_targeted=1.0, parents=3, children=5)
    result = fit_search(still.train, 2)
    assert any("no clamp" in note for note in result.status.notes)
    right = screen_problem(0, clamp="constant", parents=3, children=5)
    assert not any("no clamp" in note for note in fit_search(right.train, 2).status.notes)
    untouched = right.train.select(np.flatnonzero(~right.train.is_intervened.any(axis=1)))
    notes = fit_search(untouched.standardised(), 2).status.notes
    assert any("Nothing was acted on" in note for note in notes)


@pytest.mark.parametrize("acted_on", [[5], [4], [4, 5]])
def test_causes_that_are_equal_where_their_child_is_free_are_said(acted_on):
    """x_4 = x_0 without noise; x_5 follows either, and tells which only while x_4 is acted on."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1200, 8))
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[:400, acted_on] = True
    x[:, 4] = np.where(clamped[:, 4], x[:, 4], x[:, 0])
    x[:, 5] = np.where(clamped[:, 5], x[:, 5], x[:, 4])
    problem = problem_of(InterventionalData.from_arrays(x, clamped))
    model = model_of(problem, [([0], [1.0]), ([4], [1.0])], [4], [5])
    said = [g for g in fit_status(problem, model, None).guesses if "may be a child of" in g]
    assert bool(said) == (acted_on != [4])
