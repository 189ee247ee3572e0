"""What a search says it cannot know."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import LINEAR, children, linear, measured, nothing_known
from ucad.data import InterventionalData
from ucad.solvers.search.account import fit_status, undetermined
from ucad.solvers.search.functions import NOTHING
from ucad.solvers.search.refinement import fit_variables


@pytest.fixture(scope="module")
def data():
    return measured()


def model_of(data, factors, *of_each):
    return fit_variables(data, factors, children(*of_each), LINEAR)


def test_a_right_model_meets_all_constraints(data):
    model = model_of(data, [linear(data, [k], [1.0]) for k in (0, 1)], [2, 3], [4, 5])
    status = fit_status(data, model, nothing_known(), interrupted=False)
    assert status.converged
    assert status.feasible
    assert not status.notes


def test_a_factor_without_an_anchor_of_its_own_is_a_violation(data):
    both = [linear(data, [0, 1], [1.0, 1.0]), linear(data, [0], [1.0])]
    status = fit_status(data, model_of(data, both, [2, 4], [2]), None, interrupted=True)
    assert set(status.violations) == {"in-anchor of Z2", "out-anchor of Z2"}
    assert status.interrupted
    assert not status.converged


def test_empty_and_collinear_factors_are_named(data):
    empty = model_of(data, [linear(data, [0], [1.0]), NOTHING], [2, 3], [])
    assert any("Z2 explains nothing" in note for note in undetermined(data, empty, None))
    twice = model_of(data, [linear(data, [0], [1.0])] * 2, [2], [3])
    assert any("Z1 and Z2 are collinear" in note for note in undetermined(data, twice, None))


@pytest.mark.parametrize("clamped", [None, 0, 2])
def test_a_pair_that_nobody_clamps_has_no_direction(data, clamped):
    mask = np.zeros(data.x.shape, dtype=bool)
    if clamped is not None:
        mask[:500, clamped] = True
    seen = InterventionalData.from_arrays(data.x, mask)
    model = model_of(seen, [linear(seen, [0], [1.0]), linear(seen, [1], [1.0])], [2], [4, 5])
    notes = list(undetermined(seen, model, None))
    assert any("X1 → Z1 → X3 is a guess" in note for note in notes) == (clamped is None)
