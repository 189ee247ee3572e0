import numpy as np
import pytest
import torch

from ucad.constraints import anchor_counts, anchor_scores, anchor_violation


def soft_edges(seed: int, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(*shape, generator=generator, dtype=torch.float64)


def test_scores_are_the_products_of_the_definition():
    Q = soft_edges(0, 2, 6, 4)
    for i in range(6):
        for k in range(4):
            others = [factor for factor in range(4) if factor != k]
            expected = Q[:, i, k] * (1 - Q[:, i, others]).prod(dim=-1)
            torch.testing.assert_close(anchor_scores(Q)[:, i, k], expected)


def test_scores_of_many_factors_do_not_underflow_to_nan():
    edges = torch.full((3, 2000), 0.5, requires_grad=True)
    counts = anchor_counts(edges)
    counts.sum().backward()
    assert counts.isfinite().all()
    assert edges.grad.isfinite().all()


def test_the_violation_is_negative_exactly_where_every_factor_has_an_anchor():
    verdicts = []
    for seed in range(200):
        kind = np.random.default_rng(seed).choice(3, size=(9, 3), p=[0.2, 0.2, 0.6])
        Q, R = torch.tensor(kind == 0).double(), torch.tensor(kind == 1).double()
        violation = anchor_violation(Q, R)
        for row, edges in enumerate((Q, R)):
            for k in range(3):
                alone = (edges.sum(dim=1) == 1) & (edges[:, k] == 1)
                assert (violation[row, k] <= 0) == bool(alone.any())
                verdicts.append(bool(alone.any()))
    assert 0.2 < np.mean(verdicts) < 0.99


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_gradients_at_certain_edges_are_finite(value):
    edges = torch.full((4, 3), value, requires_grad=True)
    anchor_counts(edges).sum().backward()
    assert edges.grad.isfinite().all()


def test_gradients_match_finite_differences():
    Q, R = (soft_edges(seed, 2, 5, 3).requires_grad_() for seed in range(2))
    assert torch.autograd.gradcheck(anchor_violation, (Q, R))
