"""The objective from second moments."""

import torch

from tests.solvers.gradient.conftest import all_rows, drawn_start, true_graph
from ucad.solvers.gradient.minibatch_objective import MinibatchObjective
from ucad.solvers.gradient.moment_objective import MomentObjective
from ucad.solvers.gradient.relaxed_graph import RelaxedGraph
from ucad.solvers.gradient.settings import ModelSettings


def test_moments_give_the_same_nll_as_a_pass_over_the_data(problem):
    start = drawn_start(ModelSettings(), seeds=[0, 1])
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
