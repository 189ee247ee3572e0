"""Parents that additive regressions overlook."""

import numpy as np

from tests.solvers.search.two_factors import NONLINEAR, children, measured, nothing_known
from ucad.solvers.search.functions import Regression, fit_function, unit_variance
from ucad.solvers.search.refinement import fit_variables
from ucad.solvers.search.reparent import reparent


def acting_through_another(x, noise):
    """z = x0 + x0 x6 and its children: given x0, x6 has a slope that is 0 on average."""
    x[:, 2:4] = (x[:, [0]] * (1 + 0.7 * x[:, [6]])) + noise[:, 2:4]


def narrow(data):
    """A model in which z is a function of x0 alone."""
    said = Regression(data.x[:, 2], np.ones(data.n_samples))
    only = fit_function(data.x, np.array([0]), said, NONLINEAR.factor_fit)
    return fit_variables(data, [unit_variance(only, data.x)], children([2, 3]), NONLINEAR)


def test_a_parent_that_acts_through_another_is_found():
    data = measured(acting_through_another)
    model = narrow(data)
    wide = reparent(data, model, nothing_known(), NONLINEAR, NONLINEAR, only=[0])
    assert wide.factors[0].parents.tolist() == [0, 6]
    assert wide.score > model.score + 100


def test_a_descendant_of_the_children_is_no_parent():
    data = measured(acting_through_another)
    model = narrow(data)
    causes = nothing_known(ancestors=[(2, 6)])
    assert reparent(data, model, causes, NONLINEAR, NONLINEAR, only=[0]) is model


def test_without_a_missing_parent_the_model_is_left_alone():
    data = measured()
    model = narrow(data)
    assert reparent(data, model, nothing_known(), NONLINEAR, NONLINEAR, only=[0]) is model
