"""The objective of linear mechanisms from masked second moments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from ucad.data import InterventionalData, MaskedMoments
from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.objective import (
    FactorMoments,
    Objective,
    PerConfiguration,
    PerVariable,
)
from ucad.solvers.gradient.relaxed_graph import RelaxedGraph

__all__ = ["MomentObjective", "masked_moments", "moments_fit_in_memory"]

MAX_MOMENT_BYTES = 2**29
"""Largest size of the moments of one data set, half a GiB: those to train and to validate on then
take one GiB, which a laptop has to spare, for up to 405 variables. Above that, linear mechanisms
are trained on minibatches, as networks are."""


def moments_fit_in_memory(n_variables: int) -> bool:
    """Returns whether the n (n + 1)² numbers of all S_j take no more than `MAX_MOMENT_BYTES`.

    >>> moments_fit_in_memory(405), moments_fit_in_memory(406)
    (True, False)
    """
    return 8 * n_variables * (n_variables + 1) ** 2 <= MAX_MOMENT_BYTES


def masked_moments(data: InterventionalData) -> Float[Tensor, "variables features features"]:
    """Returns S_j of (x, 1) for every variable j, in double precision: n (n + 1)² numbers."""
    ones = np.ones((data.n_samples, 1))
    features = np.concatenate([data.x, ones], axis=1, dtype=np.float64)
    moments = np.empty((data.n_variables, features.shape[1], features.shape[1]))
    for j, moment in enumerate(MaskedMoments(features, data.is_left_out)):
        moments[j] = moment.matrix
    return torch.from_numpy(moments)


@dataclass(frozen=True, eq=False)
class MomentObjective(Objective):
    """The objective of linear mechanisms, exact and without a pass over the data.

    With C = (R ∘ W_X)(Q ∘ W_Z)ᵀ the residual of variable j is (e_j − C_j, −b_j) · (x, 1), so its
    mean square over the samples in which j is not clamped is a quadratic form in S_j. The diagonal
    of C is left out: a relaxed graph may make a variable a bit of a parent and a bit of a child of
    one factor, and it must not explain itself ("no self-loop is introduced").

    Cost: O(K n³) per step.

    Attributes:
        moments: S_j of (x, 1), one matrix per variable.
    """

    moments: Float[Tensor, "variables features features"]

    @classmethod
    def from_data(
        cls, data: InterventionalData, variance_floor: float, device: torch.device | str = "cpu"
    ) -> MomentObjective:
        """Computes the masked moments of a data set, in double precision."""
        free = torch.from_numpy((~data.is_left_out).sum(axis=0)).double()
        share = (free / free.sum()).to(device)
        return cls(share, variance_floor, masked_moments(data).to(device))

    def draw(self, generator: torch.Generator) -> Tensor:
        """Nothing to choose: every step sees all the data."""
        return torch.empty(0, device=generator.device)

    def nll(self, parameters: Parameters, graph: RelaxedGraph, batch: Tensor) -> PerConfiguration:
        """The negative log-likelihood per free entry."""
        del batch
        squared = self.residual_variance(parameters, graph)
        return self.nll_per_entry(squared, parameters) @ self.free_share

    def residual_variance(self, parameters: Parameters, graph: RelaxedGraph) -> PerVariable:
        """(e_j − C_j, −b_j)ᵀ S_j (e_j − C_j, −b_j)."""
        apply: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] = _ResidualVariance.apply
        to_factors = graph.Q.mT * parameters["F_Z.weight"]
        to_variables = graph.R * parameters["F_X.weight"]
        return apply(to_factors, to_variables, parameters["F_X.bias"], self.moments)

    def factor_moments(self, parameters: Parameters, graph: RelaxedGraph) -> FactorMoments:
        """T S_j Tᵀ and T S_j e_j, with T = Q ∘ W_Z bordered by a one for the constant."""
        T = torch.nn.functional.pad(graph.Q.mT * parameters["F_Z.weight"], (0, 1, 0, 1))
        T[:, -1, -1] = 1
        half = torch.einsum("kap,jpq->kjaq", T, self.moments)
        n = len(self.moments)
        targets = half[:, :, :, :n].diagonal(dim1=1, dim2=3).mT
        return FactorMoments(half @ T.mT[:, None], targets)


class _ResidualVariance(torch.autograd.Function):
    """rᵀ S_j r for r_j = (e_j − C_j, −b_j), with C = V U off its diagonal, and its gradient.

    The gradient 2 S_j r_j needs only the product S_j r_j, which the value has made already: half
    the time of a step with K = 30 at 16-3 went into finding that out node by node.
    """

    @staticmethod
    def forward(ctx: Any, U: Tensor, V: Tensor, bias: Tensor, moments: Tensor) -> Tensor:
        residual = torch.cat([V @ U, bias[..., None]], dim=2).neg_()
        residual.diagonal(dim1=1, dim2=2).fill_(1)
        residual = residual.transpose(0, 1)
        product = residual @ moments
        ctx.save_for_backward(U, V, product)
        return (product * residual).sum(dim=2).T

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        U, V, product = ctx.saved_tensors
        gradient = (product * upstream.T[..., None]).mul_(-2).transpose(0, 1)
        to_C, to_bias = gradient[..., :-1], gradient[..., -1]
        to_C.diagonal(dim1=1, dim2=2).fill_(0)
        return V.mT @ to_C, to_C @ U.mT, to_bias, None
