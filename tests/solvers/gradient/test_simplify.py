from dataclasses import replace

import numpy as np
import pytest
import torch

from ucad.errors import InvalidInputError
from ucad.solvers.gradient.candidates import settle
from ucad.solvers.gradient.mechanisms import ModelSettings
from ucad.solvers.gradient.simplify import SimplifySettings, simplify
from ucad.solvers.gradient.warm_start import graph_logits, parameters_of


def settled(learner, problem, Q, R):
    parameters = parameters_of(problem.scm, ModelSettings(), torch.float64)
    parameters["logits"] = graph_logits(torch.tensor(Q), torch.tensor(R))[None]
    return settle(learner, parameters, seed=0)


def test_edges_that_carry_nothing_are_left_out(learner, problem):
    truth = problem.scm.graph
    Q = truth.Q.copy()
    idle = np.flatnonzero(~(truth.Q | truth.R).any(axis=1))[:2]
    Q[idle, 0] = True
    more = settled(learner, problem, Q, truth.R)
    simpler = simplify(learner, more, SimplifySettings(rounds=2), seed=0)
    np.testing.assert_array_equal(simpler.graphs[0].Q, truth.Q)
    np.testing.assert_array_equal(simpler.graphs[0].R, truth.R)


def test_the_true_model_is_left_alone(learner, problem):
    truth = problem.scm.graph
    best = settled(learner, problem, truth.Q, truth.R)
    same = simplify(learner, best, SimplifySettings(rounds=1), seed=0)
    np.testing.assert_array_equal(same.graphs[0].Q, truth.Q)
    np.testing.assert_array_equal(same.graphs[0].R, truth.R)


def test_edges_are_kept_if_the_constraints_need_them(learner, problem):
    truth = problem.scm.graph
    best = settled(learner, problem, truth.Q, truth.R)
    greedy = SimplifySettings(rounds=1, edge_worth=10.0)
    assert simplify(learner, best, greedy, seed=0).violations == ({},)


def test_no_rounds_change_nothing(learner, problem):
    best = settled(learner, problem, problem.scm.graph.Q, problem.scm.graph.R)
    assert simplify(learner, best, replace(SimplifySettings(), rounds=0), seed=0) is best


@pytest.mark.parametrize(("name", "value"), [("rounds", -1), ("refit_steps", 0)])
def test_settings_that_make_no_sense_are_refused_by_name(name, value):
    with pytest.raises(InvalidInputError, match=f"'{name}' setting of SimplifySettings"):
        SimplifySettings(**{name: value})
