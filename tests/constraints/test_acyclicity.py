import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ucad.constraints import (
    Acyclicity,
    acyclicity_violation,
    bipartite_spectral_radius,
    layer_violation,
    spectral_radius,
)


def hard_graph(seed: int, n: int = 7, m: int = 4, edge: float = 0.3):
    """Random hard (Q, R); no pair is joined in both directions."""
    kind = np.random.default_rng(seed).choice(3, size=(n, m), p=[edge / 2, edge / 2, 1 - edge])
    return torch.tensor(kind == 0, dtype=torch.float64), torch.tensor(kind == 1).double()


def soft_graph(seed: int, *shape: int):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(*shape, 3, generator=generator, dtype=torch.float64)
    probabilities = logits.softmax(dim=-1)
    return probabilities[..., 0], probabilities[..., 1]


def is_acyclic(Q: torch.Tensor, R: torch.Tensor) -> bool:
    """Kahn's algorithm on the bipartite graph: an outside definition of the same thing."""
    n, m = Q.shape
    edges = [(i, n + k) for i, k in Q.nonzero().tolist()]
    edges += [(n + k, j) for j, k in R.nonzero().tolist()]
    left = set(range(n + m))
    while True:
        free = left - {b for _, b in edges}
        if not free:
            return not left
        left -= free
        edges = [(a, b) for a, b in edges if a in left]


@pytest.mark.parametrize("form", list(Acyclicity))
def test_every_form_is_zero_exactly_on_the_acyclic_graphs(form):
    graphs = [hard_graph(seed) for seed in range(200)]
    Q, R = (torch.stack(matrices) for matrices in zip(*graphs, strict=True))
    violation = acyclicity_violation(Q, R, form)
    acyclic = torch.tensor([is_acyclic(*graph) for graph in graphs])
    assert violation.isfinite().all()
    assert ((violation == 0) == acyclic).all()
    assert 20 < acyclic.sum() < 180


@pytest.mark.parametrize("form", list(Acyclicity))
def test_the_gradient_on_an_exact_dag_is_finite(form):
    Q = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], requires_grad=True)
    R = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], requires_grad=True)
    acyclicity_violation(Q, R, form).backward()
    assert Q.grad.isfinite().all()
    assert R.grad.isfinite().all()


@pytest.mark.parametrize("form", list(Acyclicity))
def test_the_empty_graph_has_no_violation(form):
    empty = torch.zeros(5, 2, requires_grad=True)
    violation = acyclicity_violation(empty, empty, form)
    violation.backward()
    assert violation.item() == 0
    assert empty.grad.isfinite().all()


@pytest.mark.parametrize("form", list(Acyclicity))
def test_gradients_match_finite_differences(form):
    Q, R = (t.requires_grad_() for t in soft_graph(0, 4, 3))
    assert torch.autograd.gradcheck(
        lambda Q, R: acyclicity_violation(Q, R, form, n_iterations=60), (Q, R)
    )


@pytest.mark.parametrize("form", list(Acyclicity))
def test_a_batch_gives_what_its_members_give(form):
    Q, R = soft_graph(1, 2, 3, 6, 2)
    batched = acyclicity_violation(Q, R, form)
    for a, b in itertools.product(range(2), range(3)):
        torch.testing.assert_close(batched[a, b], acyclicity_violation(Q[a, b], R[a, b], form))


def test_the_spectral_radius_is_the_largest_eigenvalue():
    Q, R = soft_graph(2, 10, 8, 3)
    A = Q @ R.mT
    largest = torch.linalg.eigvals(A).abs().max(dim=-1).values
    torch.testing.assert_close(spectral_radius(A, 200), largest)


def test_the_bipartite_spectral_radius_is_that_of_the_block_matrix():
    Q, R = soft_graph(3, 10, 8, 3)
    M = torch.zeros(10, 11, 11, dtype=torch.float64)
    M[:, :8, 8:], M[:, 8:, :8] = Q, R.mT
    largest = torch.linalg.eigvals(M).abs().max(dim=-1).values
    torch.testing.assert_close(bipartite_spectral_radius(Q, R, 200), largest)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_relabelling_variables_and_factors_leaves_the_radius_alone(seed):
    Q, R = soft_graph(seed, 6, 3)
    variables, factors = torch.randperm(6), torch.randperm(3)
    relabelled = bipartite_spectral_radius(Q[variables][:, factors], R[variables][:, factors])
    torch.testing.assert_close(relabelled, bipartite_spectral_radius(Q, R))


@pytest.mark.parametrize("normalised", [False, True])
def test_the_layer_violation_is_zero_exactly_where_parents_precede_children(normalised):
    for seed in range(100):
        Q, R = hard_graph(seed, edge=0.2)
        layer_of = torch.tensor(np.random.default_rng(seed).integers(0, 3, size=7))
        b = layer_violation(Q, R, layer_of, normalised=normalised)
        for k in range(4):
            parents, children = layer_of[Q[:, k] > 0], layer_of[R[:, k] > 0]
            ordered = not len(parents) or not len(children) or parents.max() < children.min()
            assert (b[k] == 0) == bool(ordered)


def test_the_layer_violation_sums_all_pairs_in_the_wrong_order():
    Q, R = soft_graph(4, 2, 7, 3)
    layer_of = torch.tensor([0, 2, 1, 1, 0, 2, 2])
    expected = torch.zeros(2, 3, dtype=torch.float64)
    for i, j in itertools.product(range(7), range(7)):
        if layer_of[i] >= layer_of[j]:
            expected += Q[:, i] * R[:, j]
    torch.testing.assert_close(layer_violation(Q, R, layer_of), expected)
    share = expected / (Q.sum(dim=1) * R.sum(dim=1))
    torch.testing.assert_close(layer_violation(Q, R, layer_of, normalised=True), share)


@pytest.mark.parametrize("normalised", [False, True])
def test_gradients_of_the_layer_violation_match_finite_differences(normalised):
    Q, R = (t.requires_grad_() for t in soft_graph(5, 2, 5, 3))
    layer_of = torch.tensor([0, 1, 1, 2, 2])
    assert torch.autograd.gradcheck(
        lambda Q, R: layer_violation(Q, R, layer_of, normalised=normalised), (Q, R)
    )


def test_a_layered_graph_is_acyclic():
    for seed in range(100):
        Q, R = hard_graph(seed, edge=0.2)
        layer_of = torch.tensor(np.random.default_rng(seed).integers(0, 3, size=7))
        if (layer_violation(Q, R, layer_of) == 0).all():
            assert is_acyclic(Q, R)
