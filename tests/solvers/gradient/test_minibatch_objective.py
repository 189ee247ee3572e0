"""The objective on minibatches."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.solvers.gradient.conftest import graph_of
from ucad.scm.families import NETWORK
from ucad.simulate import paper_problem
from ucad.solvers.gradient.mechanisms import (
    initial_parameters,
)
from ucad.solvers.gradient.minibatch_objective import MinibatchObjective
from ucad.solvers.gradient.relaxed_graph import RelaxedGraph
from ucad.solvers.gradient.settings import ModelSettings


@pytest.fixture(scope="module")
def problem():
    return paper_problem("b", "16-3", seed=0, n_samples=600)


def true_graph(problem, dtype=torch.float64) -> RelaxedGraph:
    return RelaxedGraph(*(part.to(dtype) for part in graph_of(problem.scm)))


def start_of(settings, n_variables=16, n_factors=3, seeds=(0,), dtype=torch.float64):
    drawn = initial_parameters(settings, n_variables, n_factors, list(seeds))
    return {name: value.to(dtype) for name, value in drawn.items()}


def all_rows(data) -> torch.Tensor:
    return torch.arange(data.n_samples)


def test_entries_that_are_clamped_do_not_count(problem):
    data = problem.train
    childless = int(np.flatnonzero(~problem.scm.graph.Q.any(axis=1))[0])
    x = data.x.copy()
    x[data.is_intervened[:, childless], childless] += 100.0
    original = MinibatchObjective.from_data(data, 1e-4, 10)
    changed = replace(original, x=torch.tensor(x).float())
    start = start_of(ModelSettings(), dtype=torch.float32)
    graph = true_graph(problem, torch.float32)
    assert data.is_intervened[:, childless].any()
    torch.testing.assert_close(
        original.nll(start, graph, all_rows(data)), changed.nll(start, graph, all_rows(data))
    )


def test_hard_samples_pass_the_gradient_of_edges_that_they_do_not_have(problem):
    batches = MinibatchObjective.from_data(problem.train, 1e-4, batch_size=10)
    start = start_of(ModelSettings(), dtype=torch.float32)
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
    start = start_of(nonlinear, seeds=[3], dtype=torch.float32)
    start["F_Z.w1"] = torch.zeros_like(start["F_Z.w1"])
    start["F_Z.b1"] = torch.full_like(start["F_Z.b1"], 3.0)
    for exponent in torch.linspace(-8, 4, 400):
        start["F_Z.w2"] = torch.full_like(start["F_Z.w2"], 10.0 ** exponent.item())
        solved = objective.with_exact_parts(start, graph)
        assert solved["F_X.weight"].isfinite().all()
        assert solved["F_X.bias"].isfinite().all()
