"""The model of what is stable: enough support, no cycle, and what is known comes first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.consensus.made_fits import CHAIN, SAMPLES, Q, R, halves, only, without
from ucad.consensus.consensus_model import consensus_graph, refitted
from ucad.consensus.counting import Counts, count
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.graph import boolean_product, topological_levels
from ucad.solvers.prior import PriorKnowledge

DATA = InterventionalData.from_arrays(SAMPLES)


def tens(n_found, lost):
    """Ten fits of which so many have all edges and the others not the one that is lost."""
    return count(CHAIN, halves(*[CHAIN] * n_found, *[lost] * (10 - n_found)), SAMPLES)


@pytest.mark.parametrize(("n_found", "stays"), [(10, True), (9, True), (8, False), (0, False)])
@pytest.mark.parametrize(("edge", "is_parent"), [(("Z1", "X5"), False), (("X4", "Z2"), True)])
def test_an_edge_stays_from_nine_in_ten_on(n_found, stays, edge, is_parent):
    graph = consensus_graph(tens(n_found, without(CHAIN, edge)), DATA)
    matrix = graph.Q if is_parent else graph.R
    found = matrix[3, 1] if is_parent else matrix[4, 0]
    assert found == stays
    assert graph.Q.sum() + graph.R.sum() == Q.sum() + R.sum() - (not stays)


def test_a_factor_that_seldom_comes_back_is_left_out_with_its_edges():
    graph = consensus_graph(tens(8, only(CHAIN, "Z1")), DATA)
    assert graph.factor_names == ("Z1",)
    np.testing.assert_array_equal(graph.R[:, 0], R[:, 0])


def test_a_factor_without_stable_children_is_left_out():
    graph = consensus_graph(tens(5, without(CHAIN, ("Z2", "X7"), ("Z2", "X8"))), DATA)
    assert graph.factor_names == ("Z1",)


def test_if_nothing_is_stable_there_is_no_graph():
    assert consensus_graph(tens(5, only(CHAIN)), DATA) is None


class Found(Counts):
    """Counts whose edges are told, however they contradict each other."""

    def found(self, graph):
        edges = {
            "Q": self.correlation[:, :, :2],
            "R": self.correlation[:, :, 2:].transpose(0, 2, 1),
        }
        return edges[graph.value].astype(bool)


def told(support_Q, support_R, n_fits=10):
    """Ten fits, so many of which have each edge."""
    numbers = np.arange(n_fits)[:, None, None]
    edges = np.concatenate([support_Q > numbers, support_R > numbers], axis=2)
    fits = tuple(halves(*[CHAIN] * n_fits))
    return Found(
        CHAIN.graph, CHAIN.graph.factor_names, fits, np.zeros((n_fits, 2), int), 1.0 * edges, 0.7
    )


def test_of_edges_that_close_a_cycle_the_one_with_least_support_is_left_out():
    """X8 → Z1 is in nine fits, all others in ten: Z2 would act on itself through X8 and X5."""
    more = 10 * Q
    more[7, 0] = 9
    np.testing.assert_array_equal(consensus_graph(told(more, 10 * R), DATA).Q, Q)
    fewer = 10 * R
    fewer[4, 0] = 9  # Z1 → X5 → Z2, now less sure than X8 → Z1
    found = consensus_graph(told(np.where(more == 9, 10, more), fewer), DATA)
    assert found.Q[7, 0]
    assert not found.R[4, 0]


def test_edges_against_the_layers_are_left_out():
    layered = InterventionalData.from_arrays(SAMPLES, layer_of=np.array([0, 0, 0, 0, 1, 1, 0, 2]))
    graph = consensus_graph(tens(10, CHAIN), layered)
    assert not graph.R[6, 1]  # X7 is in the first layer, and so is X3 that makes Z2
    assert graph.respects_layers(layered.layer_of)


@given(st.integers(0, 10_000))
def test_whatever_comes_back_the_consensus_is_acyclic_and_has_no_edge_of_little_support(seed):
    rng = np.random.default_rng(seed)
    support_Q, support_R = rng.integers(0, 11, (2, 8, 2))
    graph = consensus_graph(told(support_Q, support_R), DATA)
    if graph is None:
        return
    kept = [CHAIN.graph.factor_index(name) for name in graph.factor_names]
    assert topological_levels(boolean_product(graph.R.T, graph.Q)) is not None
    assert not (graph.Q & graph.R).any()
    assert (support_Q[:, kept][graph.Q] >= 9).all()
    assert (support_R[:, kept][graph.R] >= 9).all()
    assert graph.Q.any(axis=0).all()
    assert graph.R.any(axis=0).all()


def only_at(place):
    entries = np.zeros(Q.shape, dtype=bool)
    entries[place] = True
    return entries


def test_what_is_required_comes_in_without_support_and_what_is_forbidden_does_not():
    counts = tens(0, without(CHAIN, ("Z1", "X5")))
    prior = PriorKnowledge(required_child=only_at((4, 0)), forbidden_parent=only_at((3, 1)))
    graph = consensus_graph(counts, DATA, prior)
    assert graph.R[4, 0]
    assert not graph.Q[3, 1]
    assert graph.Q.sum() + graph.R.sum() == Q.sum() + R.sum() - 1


def test_what_is_required_of_a_factor_that_does_not_come_back_is_left_out_with_it():
    prior = PriorKnowledge(required_child=only_at((6, 1)))
    assert consensus_graph(tens(5, only(CHAIN, "Z1")), DATA, prior).factor_names == ("Z1",)


def test_knowledge_of_more_factors_than_there_are_is_refused():
    prior = PriorKnowledge(required_child=np.eye(8, 3, dtype=bool))
    with pytest.raises(InvalidInputError, match="at most 2 factors. Got 3"):
        consensus_graph(tens(10, CHAIN), DATA, prior)


def test_a_graph_is_fitted_anew_to_all_samples():
    """Each child of Z1 has F_X ∘ F_Z = 0.8² for both parents, whatever scale Z1 has."""
    x = CHAIN.sample(8000, seed=2).x.numpy()
    data = InterventionalData.from_arrays(3.0 * x + 5.0)
    graph = without(CHAIN, ("X5", "Z2")).graph
    found = refitted(graph, CHAIN, data)
    assert found.graph == graph
    W_Z, W_X = found.factor_mechanism.weight, found.variable_mechanism.weight
    effect = (W_X @ W_Z).numpy()
    np.testing.assert_allclose(effect[4:6, :2], 0.64, atol=0.03)
    assert (effect[:4] == 0).all()
    children = found.noise_scale.numpy()[[4, 5]]
    np.testing.assert_allclose(children, 3 * CHAIN.noise_scale.numpy()[[4, 5]], rtol=0.05)
