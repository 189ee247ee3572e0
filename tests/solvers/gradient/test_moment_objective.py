"""The objective from second moments."""

import pytest
import torch

from tests.solvers.gradient.conftest import graph_of
from ucad.simulate import paper_problem
from ucad.solvers.gradient.mechanisms import (
    initial_parameters,
)
from ucad.solvers.gradient.minibatch_objective import MinibatchObjective
from ucad.solvers.gradient.moment_objective import MomentObjective
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


def test_moments_give_the_same_nll_as_a_pass_over_the_data(problem):
    start = start_of(ModelSettings(), seeds=[0, 1])
    graph = RelaxedGraph(*(part.expand(2, -1, -1) for part in true_graph(problem)))
    moments = MomentObjective.from_data(problem.train, 1e-4)
    batches = MinibatchObjective.from_data(problem.train, 1e-4, batch_size=10)
    single = {name: value.float() for name, value in start.items()}
    single_graph = RelaxedGraph(*(part.float() for part in graph))
    from_data = batches.nll(single, single_graph, all_rows(problem.train))
    torch.testing.assert_close(
        moments.nll(start, graph, torch.empty(0)).float(), from_data, rtol=1e-4, atol=1e-5
    )
    torch.testing.assert_close(
        moments.residual_variance(start, graph).float(),
        batches.residual_variance(single, single_graph),
        rtol=1e-3,
        atol=1e-4,
    )
