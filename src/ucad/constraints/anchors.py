"""Anchors of a relaxed graph: variables that belong to one factor alone, counted softly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["MIN_ANCHORS", "anchor_counts", "anchor_scores", "anchor_violation"]

MIN_ANCHORS = 0.99
"""The paper's threshold: each factor needs this many in- and out-anchors (≤ 1 when relaxed)."""


EPSILON = 1e-12
"""Keeps logarithms finite at edges of 0 and 1."""


def anchor_scores(
    edges: Float[Tensor, "*batch variables factors"], epsilon: float = EPSILON
) -> Float[Tensor, "*batch variables factors"]:
    """Returns s_{i→k} = Q_ik Π_{l≠k} (1 − Q_il): how exclusively variable i belongs to factor k.

    In log space, so that the product of many terms does not underflow:
    S_i = Σ_l log(1 − Q_il + ε), log s_{i→k} = log(Q_ik + ε) + S_i − log(1 − Q_ik + ε).
    Give Q for in-anchors, R for out-anchors.

    Cost: O(n m). Source: the paper's appendix "Anchor constraint".

    >>> anchor_scores(torch.tensor([[1.0, 0.0], [0.5, 0.5]])).round(decimals=4)
    tensor([[1.0000, 0.0000],
            [0.2500, 0.2500]])
    """
    # ε also keeps the argument of the logarithm positive where rounding lifts Q above 1.
    present, absent = edges + epsilon, (1 - edges).clamp_min(0) + epsilon
    all_absent = absent.log().sum(dim=-1, keepdim=True)
    return ((present / absent).log() + all_absent).exp()


def anchor_counts(
    edges: Float[Tensor, "*batch variables factors"],
) -> Float[Tensor, "*batch factors"]:
    """Returns c_k = Σ_i s_{i→k}.

    An edge whose mechanism has a null weight counts as an anchor, too: the constraint can be met by
    factors that do nothing.
    """
    apply: Callable[[Tensor], Tensor] = _AnchorCounts.apply
    return apply(edges)


def anchor_violation(
    Q: Float[Tensor, "*batch variables factors"],
    R: Float[Tensor, "*batch variables factors"],
    min_anchors: float = MIN_ANCHORS,
) -> Float[Tensor, "*batch 2 factors"]:
    """Returns τ − c_k for in-anchors and for out-anchors; the constraint asks for ≤ 0.

    >>> Q = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> R = torch.tensor([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    >>> anchor_violation(Q, R)
    tensor([[-0.0100, -0.0100],
            [ 0.9900,  0.9900]])
    """
    return min_anchors - anchor_counts(torch.stack([Q, R], dim=-3))


class _AnchorCounts(torch.autograd.Function):
    """c_k = Σ_i s_{i→k} with its gradient in closed form.

    ∂s_ik / ∂Q_ik = s_ik / (Q_ik + ε) and ∂s_ik / ∂Q_il = −s_ik / (1 − Q_il + ε) for l ≠ k.
    """

    @staticmethod
    def forward(ctx: Any, edges: Tensor) -> Tensor:
        scores = anchor_scores(edges)
        ctx.save_for_backward(edges, scores)
        return scores.sum(dim=-2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> Tensor:
        edges, scores = ctx.saved_tensors
        weighted = scores * upstream[..., None, :]
        others = weighted.sum(dim=-1, keepdim=True) - weighted
        absent = (1 - edges).clamp_min_(0).add_(EPSILON)
        return weighted / (edges + EPSILON) - others / absent
