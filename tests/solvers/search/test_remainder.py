"""What is left of one factor when another is taken out of it."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import CLASSES, measured, problem_of
from ucad.solvers.search.remainder import remainder


@pytest.mark.parametrize("name", ["linear", "curved factors"])
def test_a_factor_is_found_beside_a_multiple_of_another(name):
    problem = problem_of(measured(), CLASSES[name])
    x = problem.data.x
    own = x[:, 0] + 0.5 * x[:, 6]
    mixed = own + 0.7 * x[:, 1]
    left = remainder(problem, mixed, x[:, 1], np.array([0, 6]))
    assert left.parents.tolist() == [0, 6]
    assert abs(np.corrcoef(left.values(x), own)[0, 1]) > 0.999
    assert left.values(x).std() == pytest.approx(1.0, abs=1e-5)
    assert abs(np.corrcoef(mixed, own)[0, 1]) < 0.9
