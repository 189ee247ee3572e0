"""Sparsity of a relaxed graph: the share of variable-factor pairs that are joined by an edge."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

__all__ = ["TOLERANCE", "density", "sparsity_violation"]

TOLERANCE = 0.2
"""The paper's tol_s. It can exclude the truth: some of its own 16-3 graphs have density 0.208."""


def density(
    Q: Float[Tensor, "*batch variables factors"], R: Float[Tensor, "*batch variables factors"]
) -> Float[Tensor, "*batch"]:
    """Returns C_sparsity = Σ_ik (|Q_ik| + |R_ik|) / (n m). O(n m).

    Source: the paper's "Sparsity constraint".

    >>> import torch
    >>> density(torch.tensor([[1.0], [0.0]]), torch.tensor([[0.0], [0.5]]))
    tensor(0.7500)
    """
    return (Q.abs() + R.abs()).mean(dim=(-2, -1))


def sparsity_violation(
    Q: Float[Tensor, "*batch variables factors"],
    R: Float[Tensor, "*batch variables factors"],
    tolerance: float = TOLERANCE,
) -> Float[Tensor, "*batch"]:
    """Returns C_sparsity − tol_s; the constraint asks for ≤ 0."""
    return density(Q, R) - tolerance
