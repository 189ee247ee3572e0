"""Reading factors off a variable."""

from dataclasses import replace

import numpy as np
import pytest

from tests.solvers.search.two_factors import CLASSES, measured, nothing_known, problem_of
from ucad.scm.families import Affine
from ucad.solvers.search.variable_regressions import VariableRegressions


def ridges(x, noise):
    """x4 is a function of 2 x0 + x1 + x6 that is not monotone; x5 is one of x2 and x7."""
    z = (2 * x[:, 0] + x[:, 1] + x[:, 6]) / np.sqrt(6)
    x[:, 2] = noise[:, 2] / 0.3
    x[:, 4] = z + 0.5 * z**2 + noise[:, 4]
    x[:, 5] = x[:, 2] + np.sin(2 * x[:, 7]) + 0.4 * x[:, 2] * x[:, 7] + noise[:, 5]


@pytest.fixture(scope="module")
def data():
    return measured(ridges, n_samples=1500)


def parents_of(data, name, j, *, widen, ancestors=None):
    problem = problem_of(data, CLASSES[name])
    if ancestors is not None:
        problem = replace(problem, admissible=problem.admissible.with_ancestors(ancestors))
    regressions = VariableRegressions(problem, nothing_known())
    seen = np.array([0, 1]) if j == 4 else np.array([2])
    found = list(regressions.factors_of_variable(j, seen, seen, widen=widen))
    for function in found:
        assert function.values(data.x).std() == pytest.approx(1.0, abs=1e-4)
    return [sorted(function.parents.tolist()) for function in found]


def test_a_linear_factor_has_the_cause_that_screening_missed(data):
    assert [0, 1, 6] in parents_of(data, "curved variables", 4, widen=True)
    narrow = parents_of(data, "curved variables", 4, widen=False)
    assert all(set(parents) <= {0, 1} for parents in narrow)


def test_so_does_a_nonlinear_one(data):
    assert [2, 7] in parents_of(data, "curved factors", 5, widen=True)


def test_what_is_known_to_come_later_is_not_a_cause(data):
    later = np.zeros((8, 8), dtype=bool)
    later[4, 6] = True
    found = parents_of(data, "curved variables", 4, widen=True, ancestors=later)
    assert all(6 not in parents for parents in found)


def test_what_is_left_of_a_variable_is_read_too(data):
    problem = problem_of(data)
    regressions = VariableRegressions(problem, nothing_known())
    left = data.x[:, 4] - data.x[:, 0]
    (only,) = regressions.factors_of(left, np.array([1]), np.array([1, 6]), 4)
    assert only.parents.tolist() == [1]


def test_a_function_that_is_flat_at_every_sample_has_no_factors(data):
    problem = problem_of(data, CLASSES["curved variables"])
    flat = Affine(np.array([0, 1]), np.zeros(2), 1.0)
    assert list(VariableRegressions(problem, nothing_known())._factors_in(flat)) == []
