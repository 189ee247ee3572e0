"""Starting from a model that another solver found."""

from __future__ import annotations

import torch
from torch import Tensor

from ucad.errors import InvalidInputError
from ucad.scm import AffineMap, FactorSCM, LinearMechanism, MLPMechanism
from ucad.solvers.gradient.mechanisms import MechanismKind, ModelSettings, Parameters

__all__ = ["EDGE_LOGIT", "NO_EDGE_LOGIT", "graph_logits", "parameters_of"]

EDGE_LOGIT = 4.0
"""Logit of an edge of the model that training starts from: a probability of 0.96 (the other kinds
are at 0), so that it is there at first and can still go."""

NO_EDGE_LOGIT = 3.0
"""Logit of "no edge" where that model has none: 0.91, so that an edge can still come. Like the one
above, a guess that was not tuned."""

SMALL_SLOPE = 0.1
"""ε (no unit) of a linear map as one unit of tanh: tanh(ε w v) / ε, straight to within ε²/3."""

SMALLEST_NORM = 1e-12
"""Stands for the norm of a linear map that is 0, as a denominator."""


def parameters_of(scm: FactorSCM, settings: ModelSettings, dtype: torch.dtype) -> Parameters:
    """Returns the parameters of one configuration that is this model.

    A linear mechanism becomes a nearly linear MLP if the settings ask for MLPs.

    Raises:
        InvalidInputError: if a mechanism is an MLP and the settings ask for a linear one.
    """
    # F_Z has no bias of its own here: ρ(z) = z + shift moves it into F_X.
    F_Z_bias = "bias" if isinstance(scm.factor_mechanism, LinearMechanism) else "b2"
    shift = getattr(scm.factor_mechanism, F_Z_bias, torch.zeros(scm.graph.n_factors))
    shift = shift.to(scm.noise_scale)
    centred = scm.reparametrised(AffineMap(torch.ones_like(shift), shift))
    F_Z = _mechanism("F_Z", centred.factor_mechanism, settings.factor_mechanism, settings.hidden)
    F_X = _mechanism(
        "F_X", centred.variable_mechanism, settings.variable_mechanism, settings.hidden
    )
    del F_Z["F_Z.bias"]
    Q, R = (torch.from_numpy(part.copy()) for part in (scm.graph.Q, scm.graph.R))
    variance = scm.noise_scale.square().clamp_min(settings.variance_floor)
    own = {"logits": graph_logits(Q, R), **F_Z, **F_X, "log_variance": variance.log()}
    return {name: value[None].to(dtype) for name, value in own.items()}


def graph_logits(Q: Tensor, R: Tensor) -> Tensor:
    """Returns logits that make the given edges (0 or 1) likely and leave room to change."""
    Q, R = (part if part.is_floating_point() else part.double() for part in (Q, R))
    none = NO_EDGE_LOGIT * (1 - Q) * (1 - R)
    return torch.stack([EDGE_LOGIT * Q, EDGE_LOGIT * R, none], dim=-3)


def _mechanism(name: str, mechanism: object, kind: MechanismKind, hidden: int) -> Parameters:
    if isinstance(mechanism, LinearMechanism):
        if kind is MechanismKind.LINEAR:
            return {f"{name}.weight": mechanism.weight, f"{name}.bias": mechanism.bias}
        return _as_parameters(name, _nearly_linear(mechanism), hidden)
    if isinstance(mechanism, MLPMechanism) and kind is MechanismKind.MLP:
        return _as_parameters(name, mechanism, hidden)
    raise InvalidInputError(
        f"The mechanism {name} of 'initial' must be one that ModelSettings can hold: "
        f"{kind.value}. Got {type(mechanism).__name__} instead. Set it to MechanismKind.MLP."
    )


def _as_parameters(name: str, mechanism: MLPMechanism, hidden: int) -> Parameters:
    missing = hidden - mechanism.b1.shape[1]
    if missing < 0:
        raise InvalidInputError(
            f"The 'hidden' setting of ModelSettings must be at least {mechanism.b1.shape[1]}, as "
            f"in {name} of 'initial'. Got {hidden} instead."
        )
    return {
        f"{name}.w1": torch.nn.functional.pad(mechanism.w1, (0, 0, 0, missing)),
        f"{name}.b1": torch.nn.functional.pad(mechanism.b1, (0, missing)),
        f"{name}.w2": torch.nn.functional.pad(mechanism.w2, (0, missing)),
        f"{name}.bias": mechanism.b2,
    }


def _nearly_linear(mechanism: LinearMechanism) -> MLPMechanism:
    scale = SMALL_SLOPE / mechanism.weight.norm(dim=1).clamp_min(SMALLEST_NORM)
    w1 = (scale[:, None] * mechanism.weight)[:, None]
    return MLPMechanism(w1, torch.zeros_like(w1[:, :, 0]), (1 / scale)[:, None], mechanism.bias)
