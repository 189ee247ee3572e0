"""What chosen factors leave of the variables."""

import numpy as np

from ucad.data import InterventionalData
from ucad.scm.families import AFFINE, Affine
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import unit_variance
from ucad.solvers.search.choice import build_choice
from ucad.solvers.search.residuals import Residuals


def test_residuals_are_what_least_squares_leave_where_a_variable_is_free():
    rng = np.random.default_rng(0)
    x, acted = rng.standard_normal((500, 4)), np.zeros((500, 4), dtype=bool)
    acted[:100, 2] = True
    x[100:, 2] += 2 * (x[100:, 0] + x[100:, 1])
    data = InterventionalData(x, acted, acted[:, 2].astype(int), tuple("abcd"), None)
    problem = Problem.of(data.standardised(), 1, (AFFINE, AFFINE))
    factor = unit_variance(Affine(np.array([0, 1]), np.ones(2), 0.0), problem.data.x)
    choice = build_choice([factor], problem)
    residuals = Residuals(problem, choice, (0,), choice.children((0,)))

    free = problem.data.x[100:]
    design = np.column_stack([factor.values(free), np.ones(400)])
    fitted = design @ np.linalg.lstsq(design, free[:, 2], rcond=None)[0]
    both = residuals(np.array([2, 3]))
    np.testing.assert_allclose(both[100:, 0], free[:, 2] - fitted, atol=1e-4)
    assert (both[:100, 0] == 0).all()
    np.testing.assert_array_equal(both, residuals(slice(2, 4)))
    np.testing.assert_allclose(both[:, 1], problem.data.x[:, 3], atol=1e-9)
