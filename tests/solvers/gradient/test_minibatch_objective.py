"""The objective on minibatches."""

from dataclasses import replace

import numpy as np
import torch

from tests.solvers.gradient.conftest import all_rows, drawn_start, true_graph
from ucad.scm.families import NETWORK
from ucad.solvers.gradient.minibatch_objective import MinibatchObjective
from ucad.solvers.gradient.relaxed_graph import RelaxedGraph
from ucad.solvers.gradient.settings import ModelSettings


def test_entries_that_are_clamped_do_not_count(problem):
    data = problem.train
    childless = int(np.flatnonzero(~problem.scm.graph.Q.any(axis=1))[0])
    x = data.x.copy()
    x[data.is_intervened[:, childless], childless] += 100.0
    original = MinibatchObjective.from_data(data, 1e-4, 10)
    changed = replace(original, x=torch.tensor(x).float())
    start = drawn_start(ModelSettings(), dtype=torch.float32)
    graph = true_graph(problem, torch.float32)
    assert data.is_intervened[:, childless].any()
    torch.testing.assert_close(
        original.nll(start, graph, all_rows(data)), changed.nll(start, graph, all_rows(data))
    )


def test_hard_samples_pass_the_gradient_of_edges_that_they_do_not_have(problem):
    batches = MinibatchObjective.from_data(problem.train, 1e-4, batch_size=10)
    start = drawn_start(ModelSettings(), dtype=torch.float32)
    Q, R = (part.clone().requires_grad_() for part in true_graph(problem, torch.float32))
    batches.nll(start, RelaxedGraph(Q, R), all_rows(problem.train)).sum().backward()
    is_none = (Q == 0) & (R == 0)
    assert (R.grad[is_none] != 0).any()
    assert (Q.grad[is_none] != 0).any()


def test_best_children_of_factors_that_never_change_are_finite(problem):
    """Three constants and the bias: at some sizes their system is singular in single precision."""
    graph = RelaxedGraph(*torch.ones(2, 1, 16, 3))
    objective = MinibatchObjective.from_data(problem.train, 1e-4, 10)
    nonlinear = ModelSettings(factor_family=NETWORK)
    start = drawn_start(nonlinear, seeds=[3], dtype=torch.float32)
    start["F_Z.w1"] = torch.zeros_like(start["F_Z.w1"])
    start["F_Z.b1"] = torch.full_like(start["F_Z.b1"], 3.0)
    for exponent in torch.linspace(-8, 4, 400):
        start["F_Z.w2"] = torch.full_like(start["F_Z.w2"], 10.0 ** exponent.item())
        solved = objective.with_exact_parts(start, graph)
        assert solved["F_X.weight"].isfinite().all()
        assert solved["F_X.bias"].isfinite().all()
