"""The objective on minibatches: any mechanisms, any number of variables."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ucad.data import InterventionalData
from ucad.solvers.gradient.mechanisms import Parameters, predict_factors, predict_variables
from ucad.solvers.gradient.objective import (
    FactorMoments,
    Objective,
    PerConfiguration,
    PerVariable,
)
from ucad.solvers.gradient.relaxed_graph import RelaxedGraph

__all__ = ["MinibatchObjective"]

BLOCK_SAMPLES = 2048
"""Samples per block of a pass over all data: a few MB for some hundred units, so that it fits the
cache."""


@dataclass(frozen=True, eq=False)
class MinibatchObjective(Objective):
    """The objective of any mechanisms, on minibatches; single precision, all on the device.

    Attributes:
        x: the measurements.
        is_free: 1 where a variable is not clamped, 0 where it is.
        batch_size: samples per step.
    """

    x: Float[Tensor, "samples variables"]
    is_free: Float[Tensor, "samples variables"]
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
        is_free = torch.tensor(~data.is_left_out, dtype=torch.float32, device=device)
        share = is_free.sum(dim=0) / is_free.sum()
        return cls(share, variance_floor, x, is_free, min(batch_size, data.n_samples))

    def draw(self, generator: torch.Generator) -> Int[Tensor, " batch"]:
        """Chooses the samples of the next step, with replacement."""
        return torch.randint(
            len(self.x), (self.batch_size,), generator=generator, device=self.x.device
        )

    def nll(
        self, parameters: Parameters, graph: RelaxedGraph, batch: Int[Tensor, " batch"]
    ) -> PerConfiguration:
        """The negative log-likelihood per free entry of the batch.

        Of a pair that is a bit of a parent and a bit of a child, only the larger of the two counts:
        a variable must not explain itself through a factor.
        """
        x, is_free = self.x[batch], self.is_free[batch]
        Q, R = graph
        both = (Q > 0) & (R > 0)
        z = predict_factors(parameters, Q.masked_fill(both & (Q <= R), 0), x)
        predicted = predict_variables(parameters, R.masked_fill(both & (Q > R), 0), z)
        squared = ((x - predicted).square() * is_free).sum(dim=1)
        free = is_free.sum(dim=0)
        per_entry = self.nll_per_entry(squared / free.clamp_min(1), parameters)
        return per_entry @ (free / free.sum())

    def residual_variance(self, parameters: Parameters, graph: RelaxedGraph) -> PerVariable:
        """The mean squared residual where a variable is not clamped, in blocks of samples."""
        total = torch.zeros_like(parameters["log_variance"])
        blocks = (torch.split(part, BLOCK_SAMPLES) for part in (self.x, self.is_free))
        for x, is_free in zip(*blocks, strict=True):
            z = predict_factors(parameters, graph.Q, x)
            residual = x - predict_variables(parameters, graph.R, z)
            total = total + (residual.square() * is_free).sum(dim=1)
        return total / self.is_free.sum(dim=0).clamp_min(1)

    def factor_moments(self, parameters: Parameters, graph: RelaxedGraph) -> FactorMoments:
        """Sums over the samples, in blocks."""
        inputs, targets = torch.zeros(()), torch.zeros(())
        blocks = (torch.split(part, BLOCK_SAMPLES) for part in (self.x, self.is_free))
        for x, is_free in zip(*blocks, strict=True):
            z = predict_factors(parameters, graph.Q, x)
            z = torch.nn.functional.pad(z, (0, 1), value=1.0)
            inputs = inputs + torch.einsum("ksa,ksb,sj->kjab", z, z, is_free)
            targets = targets + torch.einsum("ksa,sj->kja", z, x * is_free)
        free = self.is_free.sum(dim=0).clamp_min(1)
        return FactorMoments(inputs / free[:, None, None], targets / free[:, None])
