import torch

from ucad.constraints import density, sparsity_violation


def test_the_density_of_a_hard_graph_is_its_share_of_edges():
    Q = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    R = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    assert density(Q, R) == 0.5
    assert sparsity_violation(Q, R, tolerance=0.5) == 0
    assert sparsity_violation(Q, R, tolerance=0.4) > 0


def test_gradients_match_finite_differences():
    generator = torch.Generator().manual_seed(0)
    Q, R = (torch.rand(2, 4, 3, generator=generator).double().requires_grad_() for _ in range(2))
    assert torch.autograd.gradcheck(sparsity_violation, (Q, R))
