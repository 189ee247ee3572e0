"""Mechanisms F_Z and F_X of K configurations at once: their parameters and outputs."""

from __future__ import annotations

from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from ucad.solvers.gradient.settings import ModelSettings

__all__ = ["Parameters", "initial_parameters", "predict_factors", "predict_variables"]

Parameters: TypeAlias = dict[str, Tensor]
"""Θ and Φ by name, each with a leading axis of configurations: `logits`, `F_Z.…`, `F_X.…`,
`log_variance`. A mechanism is linear if it has a `weight`, an MLP if it has `w1`, `b1` and `w2`."""


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


def initial_parameters(
    settings: ModelSettings, n_variables: int, n_factors: int, seeds: list[int]
) -> Parameters:
    """Draws the starting point of every configuration from its own seed, in double precision."""
    members = [
        _one_start(settings, n_variables, n_factors, torch.Generator().manual_seed(seed))
        for seed in seeds
    ]
    return {name: torch.stack([one[name] for one in members]) for name in members[0]}


def _one_start(
    settings: ModelSettings, n_variables: int, n_factors: int, generator: torch.Generator
) -> Parameters:
    def normal(*shape: int, scale: float) -> Tensor:
        return scale * torch.randn(shape, generator=generator, dtype=torch.float64)

    start = {"logits": normal(3, n_variables, n_factors, scale=0.1)}
    for name, family, targets, inputs in [
        ("F_Z", settings.factor_family, n_factors, n_variables),
        ("F_X", settings.variable_family, n_variables, n_factors),
    ]:
        if family.is_affine:
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
