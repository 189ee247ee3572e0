"""The learning objective: the Gaussian NLL of K configurations, however the data come."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from ucad.solvers.gradient.mechanisms import Parameters
from ucad.solvers.gradient.relaxed_graph import RelaxedGraph

__all__ = [
    "FactorMoments",
    "FreeShare",
    "Objective",
    "PerConfiguration",
    "PerVariable",
    "best_children",
    "gaussian_nll",
    "profile_nll",
]

PerVariable: TypeAlias = Float[Tensor, "configurations variables"]
PerConfiguration: TypeAlias = Float[Tensor, " configurations"]
FreeShare: TypeAlias = Float[Tensor, " variables"]
"""Share of each variable in all entries that are not clamped."""

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
    def free_share(self) -> FreeShare:
        """The share of each variable among all entries that are not clamped."""
        ...

    @property
    def variance_floor(self) -> float:
        """What is added to every variance."""
        ...


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
    ridge = torch.diag_embed(RIDGE * spread + (spread <= ABSENT_VARIANCE).to(spread))
    system, targets = (inputs + ridge).double(), (moments.targets * edges).double()
    solved: Tensor = torch.linalg.solve(system, targets).to(spread)
    return {**parameters, "F_X.weight": solved[..., :-1], "F_X.bias": solved[..., -1]}


def gaussian_nll(
    squared: PerVariable, parameters: Parameters, variance_floor: float
) -> PerVariable:
    """Returns the NLL per free entry of each variable, under its learned scale."""
    variance = parameters["log_variance"].exp() + variance_floor
    return 0.5 * (squared / variance + variance.log() + math.log(2 * math.pi))


def profile_nll(
    residual_variance: PerVariable, free_share: FreeShare, variance_floor: float
) -> PerConfiguration:
    """Returns the NLL per free entry if each scale is the best one for these residuals."""
    per_entry = (residual_variance + variance_floor).log() + 1 + math.log(2 * math.pi)
    return 0.5 * per_entry @ free_share
