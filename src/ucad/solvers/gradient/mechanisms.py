"""Mechanisms F_Z and F_X of K configurations at once: their parameters, outputs and effects."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from ucad.errors import InvalidInputError
from ucad.solvers.gradient.relaxed_graph import RelaxedGraph

__all__ = [
    "EdgeEffects",
    "MechanismKind",
    "ModelSettings",
    "Parameters",
    "edge_effects",
    "initial_parameters",
    "predict_factors",
    "predict_variables",
]

Parameters: TypeAlias = dict[str, Tensor]
"""Θ and Φ by name, each with a leading axis of configurations: `logits`, `F_Z.…`, `F_X.…`,
`log_variance`. A mechanism is linear if it has a `weight`, an MLP if it has `w1`, `b1` and `w2`."""


SMALLEST_VARIANCE = 1e-12
"""Added to the variance of a factor (standardised variables, no unit) before its root is taken: the
gradient of a root at 0 is infinite."""


class MechanismKind(Enum):
    """What F_Z or F_X is made of."""

    LINEAR = "linear"
    MLP = "mlp"


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """Which conditional densities are learned.

    Attributes:
        factor_mechanism: what F_Z is.
        variable_mechanism: what F_X is.
        hidden: number of hidden units of an MLP, in one layer of tanh.
        variance_floor: added to every variance; noiseless variables have none of their own.
    """

    factor_mechanism: MechanismKind = MechanismKind.LINEAR
    variable_mechanism: MechanismKind = MechanismKind.LINEAR
    hidden: int = 16
    variance_floor: float = 1e-4

    def __post_init__(self) -> None:
        for name in ("hidden", "variance_floor"):
            if getattr(self, name) <= 0:
                raise InvalidInputError(
                    f"The '{name}' setting of ModelSettings must be above 0. "
                    f"Got {getattr(self, name)} instead."
                )

    @property
    def is_linear(self) -> bool:
        """Whether both mechanisms are linear, so that second moments say all that the data say."""
        kinds = (self.factor_mechanism, self.variable_mechanism)
        return kinds == (MechanismKind.LINEAR, MechanismKind.LINEAR)


def predict_factors(
    parameters: Parameters,
    Q: Float[Tensor, "configurations variables factors"],
    x: Float[Tensor, "samples variables"],
) -> Float[Tensor, "configurations samples factors"]:
    """Returns z_k = F_Z(Q_{:k} ∘ x) for every configuration. O(K N n m), times hidden for MLPs."""
    return _mechanism(parameters, "F_Z", Q.mT, x.expand(Q.shape[0], -1, -1))


def predict_variables(
    parameters: Parameters,
    R: Float[Tensor, "configurations variables factors"],
    z: Float[Tensor, "configurations samples factors"],
) -> Float[Tensor, "configurations samples variables"]:
    """Returns F_X(R_{j:} ∘ z) + b_j for every configuration."""
    return _mechanism(parameters, "F_X", R, z) + parameters["F_X.bias"][:, None]


class EdgeEffects(NamedTuple):
    """What edges carry, in standard deviations of the target per one of the source."""

    parents: Float[Tensor, "configurations variables factors"]
    children: Float[Tensor, "configurations variables factors"]


def edge_effects(parameters: Parameters, graph: RelaxedGraph) -> EdgeEffects:
    """Returns the effect of every edge, for standardised variables taken to be uncorrelated.

    With u^Z_ik and u^X_jk the slopes of F_Z and F_X (bounds on them for an MLP) and
    s_k² = Σ_i (Q_ik u^Z_ik)² for the variance of factor k: u^Z_ik / s_k and u^X_jk s_k, which do
    not change if a factor is rescaled.
    """
    to_factors, to_variables = _slopes(parameters, "F_Z").mT, _slopes(parameters, "F_X")
    scale = (graph.Q * to_factors).square().sum(dim=1, keepdim=True).add(SMALLEST_VARIANCE).sqrt()
    return EdgeEffects(to_factors / scale, to_variables * scale)


def initial_parameters(
    settings: ModelSettings,
    n_variables: int,
    n_factors: int,
    seeds: list[int],
    dtype: torch.dtype,
) -> Parameters:
    """Draws the starting point of every configuration from its own seed."""
    members = [
        _one_start(settings, n_variables, n_factors, torch.Generator().manual_seed(seed))
        for seed in seeds
    ]
    return {name: torch.stack([one[name] for one in members]).to(dtype) for name in members[0]}


def _one_start(
    settings: ModelSettings, n_variables: int, n_factors: int, generator: torch.Generator
) -> Parameters:
    def normal(*shape: int, scale: float) -> Tensor:
        return scale * torch.randn(shape, generator=generator, dtype=torch.float64)

    start = {"logits": normal(3, n_variables, n_factors, scale=0.1)}
    kinds = {"F_Z": settings.factor_mechanism, "F_X": settings.variable_mechanism}
    shapes = {"F_Z": (n_factors, n_variables), "F_X": (n_variables, n_factors)}
    for name, (targets, inputs) in shapes.items():
        if kinds[name] is MechanismKind.LINEAR:
            start[f"{name}.weight"] = normal(targets, inputs, scale=0.3)
        else:
            start[f"{name}.w1"] = normal(targets, settings.hidden, inputs, scale=0.5)
            start[f"{name}.b1"] = normal(targets, settings.hidden, scale=0.3)
            start[f"{name}.w2"] = normal(targets, settings.hidden, scale=settings.hidden**-0.5)
    # A bias of F_Z would only shift z, which F_X can undo: there is none.
    zeros = torch.zeros(n_variables, dtype=torch.float64)
    return {**start, "F_X.bias": zeros, "log_variance": zeros.clone()}


def _mechanism(
    parameters: Parameters,
    name: str,
    edges: Float[Tensor, "configurations targets inputs"],
    inputs: Float[Tensor, "configurations samples inputs"],
) -> Float[Tensor, "configurations samples targets"]:
    if f"{name}.weight" in parameters:
        return inputs @ (edges * parameters[f"{name}.weight"]).mT
    w1, b1, w2 = (parameters[f"{name}.{part}"] for part in ("w1", "b1", "w2"))
    masked = (edges[:, :, None] * w1).flatten(1, 2)
    hidden = torch.tanh(torch.baddbmm(b1.flatten(1)[:, None], inputs, masked.mT))
    return (hidden.reshape(*hidden.shape[:2], *w2.shape[1:]) * w2[:, None]).sum(dim=3)


def _slopes(parameters: Parameters, name: str) -> Float[Tensor, "configurations targets inputs"]:
    if f"{name}.weight" in parameters:
        return parameters[f"{name}.weight"].abs()
    w1, w2 = parameters[f"{name}.w1"], parameters[f"{name}.w2"]
    return (w2[..., None].abs() * w1.abs()).sum(dim=2)
