import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.solvers.gradient.conftest import graph_logits, graph_of, parameters_of
from ucad.constraints import layer_violation
from ucad.graph import FactorGraph
from ucad.solvers.gradient.discretise import DiscreteGraph, discretise, refit
from ucad.solvers.gradient.mechanisms import initial_parameters
from ucad.solvers.gradient.moment_objective import MomentObjective
from ucad.solvers.gradient.relaxed_graph import Edge
from ucad.solvers.gradient.settings import ModelSettings


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_a_dag_comes_out_and_removed_edges_are_all_that_is_missing(seed):
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(1, 3, 8, 3, generator=generator)
    (graph,) = discretise(logits, confidence=0.5)
    FactorGraph(graph.Q, graph.R)  # refuses cycles
    kind = logits[0].softmax(dim=0)
    exists = (kind[Edge.PARENT] + kind[Edge.CHILD] > 0.5).numpy()
    kept = graph.Q | graph.R
    for i, k, is_parent in graph.removed:
        assert exists[i, k]
        assert not kept[i, k]
        assert is_parent == bool(kind[Edge.PARENT, i, k] >= kind[Edge.CHILD, i, k])
        kept[i, k] = True
    np.testing.assert_array_equal(kept, exists)


def test_the_weakest_edge_of_a_cycle_is_the_one_to_go():
    # X0 -> Z0 -> X1 -> Z1 -> X0, and the last edge is the least certain.
    logits = torch.zeros(1, 3, 3, 2)
    logits[0, Edge.NONE] = 5.0
    for edge, i, k, strength in [
        (Edge.PARENT, 0, 0, 12.0),
        (Edge.CHILD, 1, 0, 11.0),
        (Edge.PARENT, 1, 1, 10.0),
        (Edge.CHILD, 0, 1, 7.0),
    ]:
        logits[0, edge, i, k] = strength
    (graph,) = discretise(logits, confidence=0.5)
    assert graph.removed == ((0, 1, False),)


def test_required_edges_of_a_cycle_are_the_last_to_go():
    logits = torch.full((1, 3, 3, 2), -5.0)
    logits[0, Edge.NONE] = 5.0
    cycle = [(Edge.PARENT, 0, 0), (Edge.CHILD, 1, 0), (Edge.PARENT, 1, 1), (Edge.CHILD, 0, 1)]
    for edge, i, k in cycle:
        logits[0, edge, i, k] = 40.0
    required = torch.zeros(3, 2, dtype=torch.bool)
    for _, i, k in cycle[:3]:
        required[i, k] = True
    (graph,) = discretise(logits, confidence=0.5, required=required)
    assert graph.removed == ((0, 1, False),)
    (graph,) = discretise(logits, confidence=0.5, required=torch.ones_like(required))
    assert len(graph.removed) == 1


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_with_layers_parents_precede_children(seed):
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(1, 3, 8, 3, generator=generator)
    layer_of = torch.tensor([0, 0, 1, 1, 1, 2, 2, 2])
    (graph,) = discretise(logits, confidence=0.5, layer_of=layer_of)
    Q, R = (torch.tensor(part).float() for part in (graph.Q, graph.R))
    assert (layer_violation(Q, R, layer_of) == 0).all()


def test_an_acyclic_graph_is_left_alone(problem):
    truth = problem.scm.graph
    logits = graph_logits(graph_of(problem.scm))
    (graph,) = discretise(logits, confidence=0.5)
    assert graph.removed == ()
    np.testing.assert_array_equal(graph.Q, truth.Q)
    np.testing.assert_array_equal(graph.R, truth.R)


def test_edges_below_the_confidence_are_dropped():
    logits = torch.log(torch.tensor([0.4, 0.2, 0.4])).reshape(1, 3, 1, 1).expand(1, 3, 2, 1)
    assert discretise(logits, confidence=0.5)[0].Q.all()
    assert not discretise(logits, confidence=0.7)[0].Q.any()


def test_a_refit_on_the_true_graph_reaches_the_likelihood_of_the_truth(problem):
    objective = MomentObjective.from_data(problem.train, 1e-4)
    edges = graph_of(problem.scm)
    start = initial_parameters(ModelSettings(), 16, 3, [0])
    generator = torch.Generator().manual_seed(0)
    fitted = refit(start, edges, objective, 300, generator)
    truth = parameters_of(problem.scm)

    found, wanted = (objective.profile_nll(one, edges).item() for one in (fitted, truth))
    assert found < wanted + 0.02


def test_removed_edges_are_named_from_cause_to_effect():
    nothing = np.zeros((2, 1), dtype=bool)
    graph = DiscreteGraph(nothing, nothing, ((0, 0, True), (1, 0, False)))
    assert graph.removed_edges(("A", "B")) == ("A -> Z1", "Z1 -> B")
    assert graph.removed_edges(("A", "B"), torch.tensor([[False], [True]])) == ("Z1 -> B",)
