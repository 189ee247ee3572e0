"""From the search's own functions to a `FactorSCM`."""

import numpy as np
import pytest
import torch

from tests.solvers.search.two_factors import CLASSES, children, linear, measured, problem_of
from ucad.scm.families import LinearMechanism
from ucad.solvers.regression.fitting import Regression
from ucad.solvers.search.export import as_scm
from ucad.solvers.search.model import fit_variables


@pytest.mark.parametrize("families", CLASSES.values(), ids=CLASSES)
def test_the_scm_has_the_graph_the_factors_and_the_noise_of_the_model(families):
    data = measured(n_samples=300)
    problem = problem_of(data, families)
    sine = Regression(np.sin(data.x[:, 0]), np.ones(data.n_samples))
    read = problem.fitter(problem.factor_family).fit(data.x, np.array([0]), sine)
    factors = [read, linear(data, [0, 1], [1.0, 2.0])]
    model = fit_variables(problem, factors, children([2, 3], [4, 5]), problem.efforts()[0])
    scm = as_scm(problem, model)
    assert (scm.graph.Q == model.Q).all()
    assert (scm.graph.R == model.R).all()
    np.testing.assert_allclose(scm.state_map(data.x).numpy(), model.state, atol=1e-4)
    made = scm.variable_mechanism(torch.from_numpy(model.state)).numpy()
    expected = np.stack([g.values(model.state) for g in model.variables], axis=1)
    np.testing.assert_allclose(made, expected, atol=1e-4)
    np.testing.assert_allclose(scm.noise_scale.numpy() ** 2, model.errors, rtol=1e-3, atol=1e-6)


def test_a_side_whose_functions_are_all_affine_is_linear():
    data = measured(n_samples=300)
    problem = problem_of(data, CLASSES["curved factors"])
    factors = [linear(data, [0], [1.0]), linear(data, [1], [1.0])]
    model = fit_variables(problem, factors, children([2], [4]), problem.efforts()[0])
    assert isinstance(as_scm(problem, model).factor_mechanism, LinearMechanism)
