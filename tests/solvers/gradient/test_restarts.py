from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.graph import FactorGraph
from ucad.solvers.gradient.attachment import best_anchors, possible_children, reattached
from ucad.solvers.gradient.candidates import Learner, settle
from ucad.solvers.gradient.learner import make_learner
from ucad.solvers.gradient.mechanisms import ModelSettings
from ucad.solvers.gradient.moment_objective import masked_moments
from ucad.solvers.gradient.restarts import RestartSettings, restart_factors
from ucad.solvers.gradient.sparse_regression import sparse_regressions
from ucad.solvers.gradient.state import Run
from ucad.solvers.gradient.warm_start import graph_logits, parameters_of


def moments_of(features: np.ndarray, n_targets: int) -> torch.Tensor:
    design = np.column_stack([features, np.ones(len(features))])
    return torch.tensor(design.T @ design / len(design)).expand(n_targets, -1, -1)


def test_a_sparse_regression_takes_the_true_features_with_least_squares():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 6))
    x[:, 5] = 2.0 + x[:, 0] - 0.5 * x[:, 3] + 0.1 * x[:, 5]
    allowed = torch.ones(1, 6, dtype=torch.bool)
    allowed[0, 5] = False
    found = sparse_regressions(moments_of(x, 1), torch.tensor([5]), allowed, 4, 0.02)
    design = np.column_stack([x[:, [0, 3]], np.ones(2000)])
    wanted, squares, *_ = np.linalg.lstsq(design, x[:, 5], rcond=None)
    assert found.coefficients[0].nonzero().flatten().tolist() == [0, 3]
    np.testing.assert_allclose(found.coefficients[0, [0, 3]], wanted[:2], atol=1e-6)
    np.testing.assert_allclose(found.variance, squares / 2000, atol=1e-8)


def test_a_sparse_regression_takes_nothing_that_is_not_allowed():
    x = np.random.default_rng(0).standard_normal((500, 3))
    x[:, 2] = x[:, 0]
    allowed = torch.tensor([[False, True, False]])
    found = sparse_regressions(moments_of(x, 1), torch.tensor([2]), allowed, 3, 0.02)
    assert (found.coefficients == 0).all()


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_all_possible_children_together_keep_the_graph_acyclic(seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(12)
    before = order[:9, None] < order[None, 9:]
    edge = rng.random((9, 3)) < 0.3
    Q, R = edge & before, edge & ~before
    legal = possible_children(torch.tensor(Q), torch.tensor(R), None).numpy()
    FactorGraph(Q, (R | legal) & ~Q)  # refuses cycles
    assert not (legal & Q).any()


@pytest.fixture
def restarting(problem, config) -> Learner:
    """A learner that knows who may cause whom."""
    config = replace(config, restarts=RestartSettings(rounds=1))
    return make_learner(problem.train, problem.validation, 3, config)


def test_a_dead_factor_is_replaced_by_one_that_explains_something(restarting, problem):
    truth = problem.scm.graph
    Q, R = torch.tensor(truth.Q), torch.tensor(truth.R)
    Q[:, 2] = R[:, 2] = False  # one factor explains nothing
    parameters = parameters_of(problem.scm, ModelSettings(), torch.float64)
    parameters["logits"] = graph_logits(Q, R)[None]
    crippled = settle(restarting, parameters, seed=0)
    assert crippled.violations[0]
    rounds = RestartSettings(rounds=1, epochs=40, penalty_growth=1.15, proposals=3)
    restarted = restart_factors(restarting, crippled, rounds, Run(0))
    assert restarted.best.violations == ({},)
    assert restarted.best.nll[0] < crippled.nll[0] - 0.05
    assert "were kept" in restarted.notes[0]


def test_restarts_never_make_a_model_worse(restarting, problem):
    parameters = parameters_of(problem.scm, ModelSettings(), torch.float64)
    best = settle(restarting, parameters, seed=0)
    restarted = restart_factors(restarting, best, RestartSettings(rounds=1, epochs=10), Run(0))
    assert restarted.best.nll[0] <= best.nll[0] + restarting.tie


def test_variables_attach_to_every_factor_that_explains_them(restarting, problem):
    truth = problem.scm.graph
    Q, R = torch.tensor(truth.Q), torch.tensor(truth.R)
    shared = R.sum(dim=1) > 1
    assert shared.any()
    fewer = R & ~shared[:, None]
    parameters = parameters_of(problem.scm, ModelSettings(), torch.float64)
    parameters["logits"] = graph_logits(Q, fewer)[None]
    again = reattached(restarting, parameters, min_gain=0.02)
    graph = restarting.problem.discrete_graph(again, 0.5)
    assert torch.equal(graph.R[0].bool(), R)
    assert torch.equal(graph.Q[0].bool(), Q)


def test_of_all_anchors_the_best_explained_one_is_marked():
    R = torch.tensor([[1, 0], [1, 0], [1, 1], [0, 1], [0, 0]], dtype=torch.bool)
    marked = best_anchors(R, torch.tensor([0.5, 0.2, 0.0, 0.9, 0.0]))
    assert marked.tolist() == [False, True, False, True, False]


def test_a_factor_without_anchors_marks_nobody():
    R = torch.tensor([[1, 1], [0, 1]], dtype=torch.bool)
    assert best_anchors(R, torch.tensor([0.1, 0.2])).tolist() == [False, True]


def test_polynomials_show_an_even_function_that_correlations_miss():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4000, 3))
    x[:, 2] = (x[:, 0] ** 2 - 1) / np.sqrt(2) + 0.3 * x[:, 2]
    data = InterventionalData.from_arrays(x, np.zeros(x.shape, dtype=bool))
    target, others = torch.tensor([2]), torch.tensor([[True, True, False]])
    found = [
        sparse_regressions(masked_moments(data, d)[2:], target, others.repeat(1, d), 3, 0.02)
        for d in (1, 3)
    ]
    assert (found[0].coefficients == 0).all()
    assert (found[1].coefficients[0].reshape(3, 3) != 0).any(dim=0).tolist() == [True, False, False]


@pytest.mark.parametrize(("name", "value"), [("rounds", -1), ("proposals", 1), ("epochs", 0)])
def test_settings_that_make_no_sense_are_refused_by_name(name, value):
    with pytest.raises(InvalidInputError, match=f"'{name}' setting of RestartSettings"):
        RestartSettings(**{name: value})
