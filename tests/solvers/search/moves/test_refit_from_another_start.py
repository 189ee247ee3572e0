"""The same edges, fitted from another start."""

import numpy as np

from tests.solvers.search.two_factors import (
    CLASSES,
    children,
    measured,
    model_of,
    move_named,
    problem_of,
)
from ucad.solvers.regression.fitting import Regression, unit_variance
from ucad.solvers.search.improve import improve
from ucad.solvers.search.model import fit_variables


def test_a_folded_factor_is_found_from_another_start():
    def folded(x, noise):
        z = (x[:, 0] + x[:, 1]) / np.sqrt(2)
        x[:, 2] = np.sin(3 * z) + 0.3 * noise[:, 2]
        x[:, 3] = z + noise[:, 3]
        x[:, 4:6] = noise[:, 4:6]

    data = measured(folded)
    problem = problem_of(data, CLASSES["curved"], n_factors=1)
    fitter = problem.fitter(problem.factor_family)
    read_off = fitter.fit(data.x, np.array([0, 1]), Regression(data.x[:, 2], np.ones(len(data.x))))
    R = children([2, 3])
    model = fit_variables(problem, [unit_variance(read_off, data.x)], R, problem.efforts()[1])
    better = improve(problem, model, [move_named("other starts", data)])
    z = data.x[:, 0] + data.x[:, 1]
    correlation = [abs(np.corrcoef(m.state[:, 0], z)[0, 1]) for m in (model, better)]
    assert correlation[0] < 0.8 < 0.95 < correlation[1]
    assert better.score > model.score + 10 * problem.penalty


def test_linear_factors_have_no_other_start(data):
    problem = problem_of(data)
    model = model_of(problem, [([0], [1.0]), ([1], [1.0])], [2, 3], [4, 5])
    assert not list(move_named("other starts", data).propose(problem, model, range(2)))
