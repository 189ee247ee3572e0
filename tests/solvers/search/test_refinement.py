"""Joint fitting and pruning of a whole model."""

import numpy as np
import pytest

from ucad.simulate import paper_problem
from ucad.solvers.search import Mechanisms, SearchConfig
from ucad.solvers.search.export import as_scm, parameter_count
from ucad.solvers.search.functions import Function
from ucad.solvers.search.pruning import prune
from ucad.solvers.search.refinement import fit_variables, polish, pseudo_target
from ucad.solvers.search.start import model_of_graph


@pytest.fixture(scope="module")
def problem():
    return paper_problem("e", "16-3", seed=0, n_samples=2500)


@pytest.fixture(scope="module")
def settings():
    config = SearchConfig(factor_mechanism=Mechanisms.MLP)
    return config.settings(2000, seed=0)


def test_the_score_is_the_penalised_likelihood_of_the_exported_model(problem, settings):
    data = problem.train
    model = model_of_graph(data, problem.scm.graph, settings)
    z = model.state
    predicted = np.stack([g.values(z) for g in model.variables], axis=1)
    free = ~data.is_intervened
    errors = ((data.x - predicted) ** 2 * free).sum(axis=0) / free.sum(axis=0)
    fit = -(free.sum(axis=0) / 2 * np.log(errors + settings.floor)).sum()
    edges = problem.scm.graph.Q.sum() + problem.scm.graph.R.sum()
    weights = sum(f.n_weights for f in (*model.factors, *model.variables))
    assert model.score == pytest.approx(fit - settings.penalty * edges - weights / 2)
    scm = as_scm(model, data)
    np.testing.assert_allclose(scm.state_map(data.x).numpy(), z, atol=1e-6)
    np.testing.assert_allclose(scm.expected_variables(z).numpy(), predicted, atol=1e-6)
    np.testing.assert_allclose(scm.noise_scale.numpy() ** 2, errors)


def test_polishing_never_lowers_the_score_or_changes_the_graph(problem, settings):
    model = model_of_graph(problem.train, problem.scm.graph, settings)
    polished = polish(problem.train, model, settings, 2)
    assert polished.score >= model.score
    assert (polished.Q == problem.scm.graph.Q).all()
    assert (polished.R == problem.scm.graph.R).all()


def test_pruning_removes_an_edge_that_is_not_there(problem, settings):
    data, graph = problem.train, problem.scm.graph
    model = model_of_graph(data, graph, settings)
    R = graph.R.copy()
    leaf = int(np.flatnonzero(R.any(axis=1) & ~graph.Q.any(axis=1))[0])
    extra = int(np.flatnonzero(~R[leaf])[0])
    R[leaf, extra] = True
    pruned = prune(data, fit_variables(data, model.factors, R, settings), settings)
    assert not pruned.R[leaf, extra]
    assert (pruned.R.any(axis=1) == graph.R.any(axis=1)).all()


def test_the_pseudo_target_minimises_the_linearised_error_of_the_children():
    rng = np.random.default_rng(0)
    z, slope, residual = rng.standard_normal(5), rng.random((5, 3)), rng.standard_normal((5, 3))
    precision = np.array([1.0, 2.0, 3.0])
    target, weights = pseudo_target(z, slope, residual, precision)
    delta = target - z
    error = residual - slope * delta[:, None]
    np.testing.assert_allclose((precision * slope * error).sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(weights, (precision * slope**2).sum(axis=1))


def test_parameters_are_counted_without_the_scale_of_factors(problem):
    factors = [Function(np.array([0, 1]), None, None, np.ones(2), 0.0)]
    R = np.zeros((16, 1), dtype=bool)
    R[5] = True
    settings = SearchConfig().settings(2000, seed=0)
    model = fit_variables(problem.train, factors, R, settings)
    assert parameter_count(model) == (2 + 1) + 16 + 1 - 2
