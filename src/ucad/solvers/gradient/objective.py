"""The learning objective: the Gaussian NLL of K configurations, from moments or minibatches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from ucad.data import InterventionalData, MaskedMoments
from ucad.solvers.gradient.mechanisms import (
    ModelSettings,
    Parameters,
    predict_factors,
    predict_variables,
)
from ucad.solvers.gradient.relaxed_graph import RelaxedGraph

__all__ = [
    "FactorMoments",
    "MinibatchObjective",
    "MomentObjective",
    "Objective",
    "best_children",
    "make_objective",
    "masked_moments",
    "moments_fit_in_memory",
    "profile_nll",
]


BLOCK = 2048
MOST_MOMENT_BYTES = 2**29
"""Moments of a data set may take half a GiB, so those to train and to validate on take one: up to
405 variables. Above that, linear mechanisms are trained on minibatches, as networks are."""

PerVariable: TypeAlias = Float[Tensor, "configurations variables"]
PerConfiguration: TypeAlias = Float[Tensor, " configurations"]


class FactorMoments(NamedTuple):
    """What regressing every variable on the factors needs.

    Attributes:
        inputs: moments of (z, 1) over the samples in which variable j is not clamped.
        targets: moments of (z, 1) with x_j over the same samples.
    """

    inputs: Float[Tensor, "configurations variables ones ones"]
    targets: Float[Tensor, "configurations variables ones"]


@runtime_checkable
class Objective(Protocol):
    """The data as the learner sees it."""

    def draw(self, generator: torch.Generator) -> Tensor:
        """Chooses what the next step looks at."""
        ...

    def nll(self, parameters: Parameters, graph: RelaxedGraph, batch: Tensor) -> PerConfiguration:
        """The negative log-likelihood per free entry, on what `draw` chose."""
        ...

    def residual_variance(self, parameters: Parameters, graph: RelaxedGraph) -> PerVariable:
        """The mean squared residual of every variable where it is not clamped, on all data."""
        ...

    def factor_moments(self, parameters: Parameters, graph: RelaxedGraph) -> FactorMoments:
        """Second moments of (z, 1) and x_j where j is not clamped, on all data."""
        ...

    @property
    def free_share(self) -> Float[Tensor, " variables"]:
        """The share of each variable among all entries that are not clamped."""
        ...

    @property
    def variance_floor(self) -> float:
        """What is added to every variance."""
        ...


def make_objective(
    data: InterventionalData,
    settings: ModelSettings,
    *,
    batch_size: int = 512,
    device: torch.device | str = "cpu",
) -> Objective:
    """Chooses moments where both mechanisms are linear and they fit, and minibatches otherwise."""
    if settings.is_linear and moments_fit_in_memory(data.n_variables):
        return MomentObjective.from_data(data, settings.variance_floor, device)
    return MinibatchObjective.from_data(data, settings.variance_floor, batch_size, device)


def moments_fit_in_memory(n_variables: int) -> bool:
    """Whether the n (n + 1)² numbers of all S_j take no more than `MOST_MOMENT_BYTES`.

    >>> moments_fit_in_memory(405), moments_fit_in_memory(406)
    (True, False)
    """
    return 8 * n_variables * (n_variables + 1) ** 2 <= MOST_MOMENT_BYTES


def masked_moments(data: InterventionalData) -> Float[Tensor, "variables features features"]:
    """Returns S_j of (x, 1) for every variable j, in double precision: n (n + 1)² numbers."""
    features = np.concatenate([data.x, np.ones((data.n_samples, 1))], axis=1, dtype=np.float64)
    moments = np.empty((data.n_variables, features.shape[1], features.shape[1]))
    for j, moment in enumerate(MaskedMoments(features, data.is_intervened)):
        moments[j] = moment.matrix
    return torch.from_numpy(moments)


@dataclass(frozen=True, eq=False)
class MomentObjective:
    """The objective of linear mechanisms, exact and without a pass over the data.

    With C = (R ∘ W_X)(Q ∘ W_Z)ᵀ the residual of variable j is (e_j − C_j, −b_j) · (x, 1), so its
    mean square over the samples in which j is not clamped is a quadratic form in S_j. The diagonal
    of C is left out: a relaxed graph may make a variable a bit of a parent and a bit of a child of
    one factor, and it must not explain itself ("no self-loop is introduced").

    Cost: O(K n³) a step.

    Attributes:
        moments: S_j of (x, 1), one matrix a variable.
        free_share: N_j / Σ N.
        variance_floor: added to every variance.
    """

    moments: Float[Tensor, "variables features features"]
    free_share: Float[Tensor, " variables"]
    variance_floor: float

    @classmethod
    def from_data(
        cls, data: InterventionalData, variance_floor: float, device: torch.device | str = "cpu"
    ) -> MomentObjective:
        """Computes the masked moments of a data set, in double precision."""
        free = torch.from_numpy((~data.is_intervened).sum(axis=0)).double()
        share = (free / free.sum()).to(device)
        return cls(masked_moments(data).to(device), share, variance_floor)

    def draw(self, generator: torch.Generator) -> Tensor:
        """Nothing to choose: every step sees all the data."""
        return torch.empty(0, device=generator.device)

    def nll(self, parameters: Parameters, graph: RelaxedGraph, batch: Tensor) -> PerConfiguration:
        """The negative log-likelihood per free entry."""
        del batch
        squared = self.residual_variance(parameters, graph)
        return _gaussian_nll(squared, parameters, self.variance_floor) @ self.free_share

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


@dataclass(frozen=True, eq=False)
class MinibatchObjective:
    """The objective of any mechanisms, on minibatches; single precision, all on the device.

    Attributes:
        x: the measurements.
        is_free: 1 where a variable is not clamped, 0 where it is.
        free_share: N_j / Σ N.
        variance_floor: added to every variance.
        batch_size: samples a step.
    """

    x: Float[Tensor, "samples variables"]
    is_free: Float[Tensor, "samples variables"]
    free_share: Float[Tensor, " variables"]
    variance_floor: float
    batch_size: int

    @classmethod
    def from_data(
        cls,
        data: InterventionalData,
        variance_floor: float,
        batch_size: int,
        device: torch.device | str = "cpu",
    ) -> MinibatchObjective:
        """Moves a data set to the device."""
        x = torch.tensor(data.x, dtype=torch.float32, device=device)
        is_free = torch.tensor(~data.is_intervened, dtype=torch.float32, device=device)
        share = is_free.sum(dim=0) / is_free.sum()
        return cls(x, is_free, share, variance_floor, min(batch_size, data.n_samples))

    def draw(self, generator: torch.Generator) -> Int[Tensor, " batch"]:
        """Chooses the samples of the next step, with replacement."""
        return torch.randint(
            len(self.x), (self.batch_size,), generator=generator, device=self.x.device
        )

    def nll(
        self, parameters: Parameters, graph: RelaxedGraph, batch: Int[Tensor, " batch"]
    ) -> PerConfiguration:
        """The negative log-likelihood per free entry of the batch."""
        x, is_free = self.x[batch], self.is_free[batch]
        z = predict_factors(parameters, graph.Q, x)
        squared = ((x - predict_variables(parameters, graph.R, z)).square() * is_free).sum(dim=1)
        free = is_free.sum(dim=0)
        per_entry = _gaussian_nll(squared / free.clamp_min(1), parameters, self.variance_floor)
        return per_entry @ (free / free.sum())

    def residual_variance(self, parameters: Parameters, graph: RelaxedGraph) -> PerVariable:
        """The mean squared residual where a variable is not clamped, in blocks of samples."""
        total = torch.zeros_like(parameters["log_variance"])
        blocks = (torch.split(part, BLOCK) for part in (self.x, self.is_free))
        for x, is_free in zip(*blocks, strict=True):
            z = predict_factors(parameters, graph.Q, x)
            residual = x - predict_variables(parameters, graph.R, z)
            total = total + (residual.square() * is_free).sum(dim=1)
        return total / self.is_free.sum(dim=0).clamp_min(1)

    def factor_moments(self, parameters: Parameters, graph: RelaxedGraph) -> FactorMoments:
        """Sums over the samples, in blocks."""
        inputs, targets = torch.zeros(()), torch.zeros(())
        blocks = (torch.split(part, BLOCK) for part in (self.x, self.is_free))
        for x, is_free in zip(*blocks, strict=True):
            z = predict_factors(parameters, graph.Q, x)
            z = torch.nn.functional.pad(z, (0, 1), value=1.0)
            inputs = inputs + torch.einsum("ksa,ksb,sj->kjab", z, z, is_free)
            targets = targets + torch.einsum("ksa,sj->kja", z, x * is_free)
        free = self.is_free.sum(dim=0).clamp_min(1)
        return FactorMoments(inputs / free[:, None, None], targets / free[:, None])


def best_children(parameters: Parameters, graph: RelaxedGraph, objective: Objective) -> Parameters:
    """Returns parameters with a linear F_X set to least squares on the factors, if it is linear.

    Exact given F_Z and a discrete graph: one small system for every variable. O(K n m³).
    """
    if "F_X.weight" not in parameters:
        return parameters
    moments = objective.factor_moments(parameters, graph)
    edges = torch.nn.functional.pad(graph.R, (0, 1), value=1.0)
    inputs = moments.inputs * edges[..., :, None] * edges[..., None, :]
    spread = inputs.diagonal(dim1=2, dim2=3)
    # A little of each factor's own variance keeps duplicates apart; absent ones get a one.
    ridge = torch.diag_embed(1e-6 * spread + (spread <= 1e-12).to(spread))
    solved: Tensor = torch.linalg.solve(inputs + ridge, moments.targets * edges)
    return {**parameters, "F_X.weight": solved[..., :-1], "F_X.bias": solved[..., -1]}


def profile_nll(
    residual_variance: PerVariable, free_share: Float[Tensor, " variables"], variance_floor: float
) -> PerConfiguration:
    """Returns the NLL per free entry if each scale is the best one for these residuals."""
    per_entry = (residual_variance + variance_floor).log() + 1 + math.log(2 * math.pi)
    return 0.5 * per_entry @ free_share


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


def _gaussian_nll(
    squared: PerVariable, parameters: Parameters, variance_floor: float
) -> PerVariable:
    variance = parameters["log_variance"].exp() + variance_floor
    return 0.5 * (squared / variance + variance.log() + math.log(2 * math.pi))
