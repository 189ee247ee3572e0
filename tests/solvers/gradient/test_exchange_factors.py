"""Stuck factors are exchanged for what other starting points have found."""

from dataclasses import replace

import pytest
import torch

from tests.solvers.gradient.conftest import graph_of, parameters_of
from ucad.simulate import paper_problem
from ucad.solvers.gradient.candidates import settle
from ucad.solvers.gradient.exchange_factors import exchange_factors
from ucad.solvers.gradient.problem import Learner
from ucad.solvers.gradient.relaxed_graph import RelaxedGraph, graph_logits
from ucad.solvers.gradient.settings import MechanismKind, ModelSettings
from ucad.solvers.gradient.training import Run


def settled(learner, problem, *dead):
    """The true model, once for each list of factors that have lost all edges in it."""
    logits = []
    for factors in dead:
        graph = graph_of(problem.scm)
        for part in graph:
            part[:, :, factors] = 0
        logits.append(graph_logits(graph))
    like, K = learner.problem.objective.free_share, len(dead)
    own = {
        name: value.expand(K, *value.shape[1:]).clone().to(like)
        for name, value in parameters_of(problem.scm).items()
    }
    return settle(learner, {**own, "logits": torch.cat(logits).to(like)}, seed=0)


@pytest.fixture(autouse=True)
def _short_training(monkeypatch):
    monkeypatch.setattr("ucad.solvers.gradient.exchange_factors.EPOCHS", 4)


def with_rounds(learner, rounds):
    return replace(learner, config=replace(learner.config, exchange_rounds=rounds))


def nll(model) -> float:
    return model.figures.validation_nll


def test_a_dead_factor_is_exchanged_for_one_that_another_model_has(learner, problem):
    models = settled(learner, problem, [2], [0, 1])
    found, note, interrupted = exchange_factors(with_rounds(learner, 3), models, 0, Run(0))
    assert found.figures.violations == {}
    assert nll(found) < nll(models[0]) - 0.05
    assert (found.graph.Q | found.graph.R).any(axis=0).all()
    assert not interrupted
    assert "were kept" in note


def test_children_of_a_factor_that_goes_are_given_to_those_that_explain_them(learner, problem):
    """A duplicate of the first factor has taken its children away."""
    Q, R = graph_of(problem.scm)
    Q[..., 2], R[..., 2] = Q[..., 0], R[..., 0]
    R[..., 0] = 0
    parameters = parameters_of(problem.scm)
    for name, axis in (("F_Z.weight", 1), ("F_X.weight", 2)):
        parameters[name].select(axis, 2).copy_(parameters[name].select(axis, 0))
    logits = graph_logits(RelaxedGraph(Q, R))
    models = settle(learner, {**parameters, "logits": logits}, seed=0)
    models += settled(learner, problem, [0, 1])
    found, *_ = exchange_factors(with_rounds(learner, 2), models, 0, Run(0))
    (truth,) = settled(learner, problem, [])
    assert nll(found) < nll(truth) + 0.01


def test_exchanges_never_make_a_model_worse(learner, problem):
    models = settled(learner, problem, [], [2])
    found, *_ = exchange_factors(with_rounds(learner, 1), models, 0, Run(0))
    assert nll(found) <= nll(models[0]) + learner.config.tie


def test_factors_of_networks_are_exchanged_too(config):
    problem = paper_problem("g", "16-3", seed=0, n_samples=400)
    mlp = MechanismKind.MLP
    model = ModelSettings(factor_mechanism=mlp, variable_mechanism=mlp)
    config = replace(config, model=model, exchange_rounds=1, refit_steps=30)
    learner = Learner.of(problem.train, problem.validation, 3, config)
    models = settled(learner, problem, [2], [0, 1])
    found, *_ = exchange_factors(learner, models, 0, Run(0))
    assert nll(found) < nll(models[0])
