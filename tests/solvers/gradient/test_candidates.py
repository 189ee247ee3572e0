"""Finished models: what they predict, and which is kept."""

from dataclasses import replace

import numpy as np
import pytest

from tests.solvers.gradient.conftest import parameters_of
from ucad.solvers.gradient.candidates import best_of, settle


@pytest.fixture
def model(learner, problem):
    (model,) = settle(learner, parameters_of(problem.scm), seed=0)
    return model


def likely(model, *nll):
    return [replace(model, nll=one) for one in nll]


def test_the_papers_choice_is_the_lowest_nll_among_runs_feasible_in_training(model):
    both = likely(model, 1.0, 0.5)
    assert best_of(both, [0.0, 0.2], tie=0.0) == 0
    assert best_of(both, [0.0, 0.0], tie=0.0) == 1
    assert best_of(both, [0.3, 0.2], tie=0.0) == 1


def test_among_equally_likely_models_the_sparser_one_is_kept(model):
    likelier, sparser, unlikely = likely(model, 0.3, 0.3004, 0.4)
    sparser = replace(sparser, graph=model.graph._replace(Q=model.graph.Q & False))
    models = [likelier, sparser, unlikely]
    assert best_of(models, [0.0] * 3, tie=0.0) == 0
    assert best_of(models, [0.0] * 3, tie=1e-3) == 1


def test_a_settled_model_predicts_what_its_parameters_predict(model, problem):
    scm = model.scm(problem.train.variable_names)
    np.testing.assert_array_equal(scm.graph.Q, problem.scm.graph.Q)
    assert model.violations == {}
    residual = problem.train.x - scm.expected_variables(scm.state_map(problem.train.x)).numpy()
    free = np.where(problem.train.is_intervened, np.nan, residual**2)
    np.testing.assert_allclose(np.nanmean(free, axis=0), model.residual_variance.numpy(), atol=1e-8)
