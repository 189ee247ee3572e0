"""The learning objective: the Gaussian NLL of K configurations, however the data come."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.relaxed_graph import RelaxedGraph

__all__ = ["FactorMoments", "Objective", "PerConfiguration", "PerVariable"]

PerVariable: TypeAlias = Float[Tensor, "configurations variables"]
PerConfiguration: TypeAlias = Float[Tensor, " configurations"]

RIDGE = 1e-6
"""Share of its own variance (no unit) that is added to each factor before variables are regressed
on the factors: it keeps nearly equal factors apart and moves coefficients by a millionth."""

ABSENT_VARIANCE = 1e-12
"""A factor with a smaller mean square (no unit) counts as absent, and gets a coefficient of 0."""


class FactorMoments(NamedTuple):
    """What regressing every variable on the factors needs.

    Attributes:
        inputs: moments of (z, 1) over the samples in which variable j is not clamped.
        targets: moments of (z, 1) with x_j over the same samples.
    """

    inputs: Float[Tensor, "configurations variables ones ones"]
    targets: Float[Tensor, "configurations variables ones"]


@dataclass(frozen=True, eq=False)
class Objective(ABC):
    """The data as the learner sees it.

    Attributes:
        free_share: N_j / Σ N, the share of each variable in all entries that are not clamped.
        variance_floor: added to every variance.
    """

    free_share: Float[Tensor, " variables"]
    variance_floor: float

    @abstractmethod
    def draw(self, generator: torch.Generator) -> Tensor:
        """Chooses what the next step looks at."""

    @abstractmethod
    def nll(self, parameters: Parameters, graph: RelaxedGraph, batch: Tensor) -> PerConfiguration:
        """The negative log-likelihood per free entry, on what `draw` chose."""

    @abstractmethod
    def residual_variance(self, parameters: Parameters, graph: RelaxedGraph) -> PerVariable:
        """The mean squared residual of every variable where it is not clamped, on all data."""

    @abstractmethod
    def factor_moments(self, parameters: Parameters, graph: RelaxedGraph) -> FactorMoments:
        """Second moments of (z, 1) and x_j where j is not clamped, on all data."""

    def nll_per_entry(self, squared: PerVariable, parameters: Parameters) -> PerVariable:
        """The NLL per free entry of each variable, given its mean squared residual."""
        variance = parameters["log_variance"].exp() + self.variance_floor
        return 0.5 * (squared / variance + variance.log() + math.log(2 * math.pi))

    def profile_nll(self, parameters: Parameters, graph: RelaxedGraph) -> PerConfiguration:
        """The NLL per free entry on all data if each scale is the best one for its residuals."""
        variance = self.residual_variance(parameters, graph) + self.variance_floor
        return 0.5 * (variance.log() + 1 + math.log(2 * math.pi)) @ self.free_share

    @torch.no_grad()
    def with_exact_parts(self, parameters: Parameters, graph: RelaxedGraph) -> Parameters:
        """Parameters with what has a closed form given F_Z and a discrete graph.

        A linear F_X is set to its least squares on the factors, one small system for every
        variable, and the scale of every variable to that of its residuals. O(K n m³).
        """
        if "F_X.weight" in parameters:
            parameters = {**parameters, **self._best_children(parameters, graph)}
        variance = self.residual_variance(parameters, graph)
        return {**parameters, "log_variance": variance.clamp_min(self.variance_floor).log()}

    def _best_children(self, parameters: Parameters, graph: RelaxedGraph) -> Parameters:
        moments = self.factor_moments(parameters, graph)
        edges = torch.nn.functional.pad(graph.R, (0, 1), value=1.0)
        inputs = moments.inputs * edges[..., :, None] * edges[..., None, :]
        spread = inputs.diagonal(dim1=2, dim2=3)
        ridge = torch.diag_embed(RIDGE * spread + (spread <= ABSENT_VARIANCE).to(spread))
        system, targets = (inputs + ridge).double(), (moments.targets * edges).double()
        solved: Tensor = torch.linalg.solve(system, targets).to(spread)
        return {"F_X.weight": solved[..., :-1], "F_X.bias": solved[..., -1]}
