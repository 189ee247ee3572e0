"""From the search's own functions to a `FactorSCM`."""

import numpy as np
import pytest
import torch

from tests.solvers.search.two_factors import LINEAR, NONLINEAR, children, linear, measured
from ucad.solvers.search.export import as_scm, parameter_count
from ucad.solvers.search.functions import Regression, fit_function
from ucad.solvers.search.refinement import fit_variables


@pytest.fixture(scope="module")
def data():
    return measured()


@pytest.fixture(scope="module")
def models(data):
    straight = [linear(data, [0], [1.0]), linear(data, [0, 1], [1.0, 2.0])]
    target = Regression(np.sin(data.x[:, 0]), np.ones(data.n_samples))
    curved = [fit_function(data.x, np.array([0]), target, NONLINEAR.factor_fit), straight[1]]
    R = children([2, 3], [4, 5])
    return [
        fit_variables(data, straight, R, LINEAR),
        fit_variables(data, curved, R, NONLINEAR),
    ]


@pytest.mark.parametrize("which", [0, 1])
def test_the_scm_has_the_graph_the_factors_and_the_noise_of_the_model(data, models, which):
    model = models[which]
    scm = as_scm(model, data)
    assert (scm.graph.Q == model.Q).all()
    assert (scm.graph.R == model.R).all()
    np.testing.assert_allclose(scm.state_map(data.x).numpy(), model.state, atol=1e-4)
    made = scm.variable_mechanism(torch.from_numpy(model.state)).numpy()[:, 2:6]
    expected = np.stack([model.variables[j].values(model.state) for j in range(2, 6)], axis=1)
    np.testing.assert_allclose(made, expected, atol=1e-4)
    np.testing.assert_allclose(scm.noise_scale.numpy() ** 2, model.errors, rtol=1e-3, atol=1e-6)


def test_parameters_are_the_weights_of_all_functions(models):
    straight, curved = models
    assert parameter_count(curved) > parameter_count(straight)
