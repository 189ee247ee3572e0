"""A factor and its children, fitted together, and started again where a child folds it."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from ucad.data import InterventionalData
from ucad.solvers.search.functions import Function, Regression, fit_function, unit_variance
from ucad.solvers.search.joint import fit_together
from ucad.solvers.search.refinement import fit_variables, polish
from ucad.solvers.search.settings import Mechanisms, SearchConfig
from ucad.solvers.search.unfold import unfold

CONFIG = SearchConfig(factor_mechanism=Mechanisms.MLP, variable_mechanism=Mechanisms.MLP)
SETTINGS = CONFIG.settings(2000, seed=0)
CHILDREN = np.array([[False], [False], [True], [True]])


@pytest.fixture(scope="module")
def data():
    """z = x0 + x1, x2 = sin 3z and x3 = z with noise: x2 folds the factor five times."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 4))
    z = (x[:, 0] + x[:, 1]) / np.sqrt(2)
    x[:, 2] = np.sin(3 * z) + 0.1 * x[:, 2]
    x[:, 3] = z + 0.5 * x[:, 3]
    clamped = rng.random(x.shape) < 0.1
    clamped[:, :2] = False
    x[clamped] = rng.standard_normal(clamped.sum())
    return InterventionalData.from_arrays(x, clamped).standardised()


def folded(data):
    """The model whose factor is read off the child that folds it."""
    regression = Regression(data.x[:, 2], (~data.is_intervened[:, 2]).astype(float))
    read_off = fit_function(data.x, np.array([0, 1]), regression, SETTINGS.factor_fit)
    return fit_variables(data, [unit_variance(read_off, data.x)], CHILDREN, SETTINGS)


def test_a_factor_and_its_children_fitted_together_predict_better(data):
    model = folded(data)
    old = [(j, model.variables[j]) for j in (2, 3)]
    factor, functions = fit_together(
        data, model.state, 0, model.factors[0], old, SETTINGS.variable_fit
    )
    z = factor.values(data.x)
    assert z.mean() == pytest.approx(0.0, abs=1e-6)
    assert z.std() == pytest.approx(1.0)
    errors = [
        np.mean((data.x[:, j] - g.values(z[:, None]))[~data.is_intervened[:, j]] ** 2)
        for (j, _), g in zip(old, functions, strict=True)
    ]
    assert np.log(errors).sum() < np.log(model.errors[[2, 3]]).sum()


def test_what_is_exact_and_linear_is_found_in_one_call(data):
    x = data.x.copy()
    x[:, 2] = 2 * x[:, 0] - x[:, 1]
    exact = InterventionalData.from_arrays(x)
    factor = Function(np.array([0, 1]), None, None, np.array([1.0, 1.0]), 0.0)
    child = Function(np.array([0]), None, None, np.array([0.5]), 0.0)
    z = factor.values(x)[:, None]
    fitted, (g,) = fit_together(exact, z, 0, factor, [(2, child)], SETTINGS.variable_fit)
    predicted = g.values(fitted.values(x)[:, None])
    assert np.abs(predicted - x[:, 2]).max() < 1e-2


def test_unfolding_finds_the_factor_behind_a_child_that_is_not_monotone(data):
    model = polish(data, folded(data), SETTINGS, 4)
    better = unfold(data, model, SETTINGS, SETTINGS)
    z = data.x[:, 0] + data.x[:, 1]
    assert better.score > model.score + 10 * SETTINGS.penalty
    assert abs(spearmanr(better.state[:, 0], z).statistic) > 0.98
    assert abs(spearmanr(model.state[:, 0], z).statistic) < 0.9


def test_unfolding_only_other_factors_leaves_a_model_alone(data):
    model = folded(data)
    assert unfold(data, model, SETTINGS, SETTINGS, only=[]) is model
