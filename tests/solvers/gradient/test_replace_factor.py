"""Stuck factors are replaced by what other starting points have found."""

from dataclasses import replace

import pytest
import torch

from ucad.errors import InvalidInputError
from ucad.solvers.gradient.candidates import settle
from ucad.solvers.gradient.learner import make_learner
from ucad.solvers.gradient.mechanisms import MechanismKind, ModelSettings
from ucad.solvers.gradient.replace_factor import ReplaceSettings, replace_factors
from ucad.solvers.gradient.run import Run
from ucad.solvers.gradient.warm_start import graph_logits, parameters_of


def settled(learner, problem, *dead):
    """The true model, one row per list of factors that have lost all edges in it."""
    parameters = parameters_of(
        problem.scm, learner.model, learner.problem.objective.free_share.dtype
    )
    logits = []
    for factors in dead:
        Q, R = (torch.tensor(part) for part in (problem.scm.graph.Q, problem.scm.graph.R))
        Q[:, factors] = R[:, factors] = False
        logits.append(graph_logits(Q, R))
    K = len(dead)
    own = {name: value.expand(K, *value.shape[1:]).clone() for name, value in parameters.items()}
    return settle(learner, {**own, "logits": torch.stack(logits).to(own["logits"])}, seed=0)


def test_a_dead_factor_is_replaced_by_one_that_another_model_has(learner, problem):
    candidates = settled(learner, problem, [2], [0, 1])
    best = candidates.row(0)
    found, note, interrupted = replace_factors(
        learner, candidates, 0, ReplaceSettings(rounds=3), Run(0)
    )
    assert found.violations == ({},)
    assert found.nll[0] < best.nll[0] - 0.05
    assert (found.graphs[0].Q | found.graphs[0].R).any(axis=0).all()
    assert not interrupted
    assert "were kept" in note


def test_children_of_a_factor_that_goes_are_given_to_those_that_explain_them(learner, problem):
    """A duplicate of the first factor has taken its children away."""
    truth = problem.scm.graph
    Q, R = torch.tensor(truth.Q), torch.tensor(truth.R)
    Q[:, 2], R[:, 2] = Q[:, 0], R[:, 0]
    R[:, 0] = False
    parameters = parameters_of(problem.scm, ModelSettings(), torch.float64)
    for name, axis in (("F_Z.weight", 1), ("F_X.weight", 2)):
        parameters[name].select(axis, 2).copy_(parameters[name].select(axis, 0))
    best = settle(learner, {**parameters, "logits": graph_logits(Q, R)[None]}, seed=0)
    pool = best.joined(settled(learner, problem, [0, 1]))
    found, *_ = replace_factors(learner, pool, 0, ReplaceSettings(rounds=2), Run(0))
    true_nll = settled(learner, problem, []).nll[0]
    assert found.nll[0] < true_nll + 0.01


def test_replacements_never_make_a_model_worse(learner, problem):
    candidates = settled(learner, problem, [], [2])
    best = candidates.row(0)
    settings = ReplaceSettings(rounds=1, epochs=4)
    found, *_ = replace_factors(learner, candidates, 0, settings, Run(0))
    assert found.nll[0] <= best.nll[0] + learner.tie


def test_factors_of_networks_are_replaced_too(problem, config):
    model = ModelSettings(
        factor_mechanism=MechanismKind.MLP, variable_mechanism=MechanismKind.MLP, hidden=4
    )
    learner = make_learner(problem.train, problem.validation, 3, replace(config, model=model))
    candidates = settled(learner, problem, [2], [0, 1])
    settings = ReplaceSettings(rounds=1, epochs=4)
    found, *_ = replace_factors(learner, candidates, 0, settings, Run(0))
    assert found.nll[0] <= candidates.nll[0] + learner.tie


@pytest.mark.parametrize("name", ["patience", "proposals", "epochs"])
def test_settings_that_make_no_sense_are_refused_by_name(name):
    with pytest.raises(InvalidInputError, match=f"'{name}' setting of ReplaceSettings"):
        ReplaceSettings(**{name: 0})
