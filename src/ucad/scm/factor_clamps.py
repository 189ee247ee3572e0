"""Setting a factor: the action on its variables that ω turns into that value of the factor."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ucad.errors import InvalidInputError
from ucad.scm.factor_scm import FactorSCM

__all__ = ["variables_for"]

MAX_STEPS = 100
"""Gauss–Newton steps: one is exact for linear mechanisms, a dozen do for smooth ones."""

TOLERANCE = 1e-6
"""How exactly a factor is set, relative to 1 or to its value: far below any standard deviation."""


def variables_for(
    scm: FactorSCM,
    factors: Mapping[str, float],
    typical: Float[Tensor, "samples variables"],
    fixed: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """The clamps of all parents of some factors that give these factors their values.

    Of all x with F_Z(x) = z it is the one nearest to the mean μ of `typical` samples,
    min Σ_j ((x_j − μ_j) / σ_j)², found by steps x ← x + D Jᵀ (J D Jᵀ)⁺ (z − F_Z(x)) with
    D = diag(σ²). Every factor that reads one of these variables feels the action: ask
    `Abstraction.intervention_map` of the result which.

    Args:
        scm: the model.
        factors: the values wanted, by name.
        typical: samples of the variables, for what is near.
        fixed: variables that are clamped already, by name; they stay as they are.

    Raises:
        InvalidInputError: a factor has no parents that could be moved, or cannot get that value.
    """
    graph, fixed = scm.graph, dict(fixed or {})
    numbers = [graph.factor_index(name) for name in factors]
    parents = np.flatnonzero(graph.Q[:, numbers].any(axis=1))
    held = [graph.variable_names[i] in fixed for i in parents]
    x = typical.mean(dim=0)
    for name, value in fixed.items():
        x[graph.variable_index(name)] = value
    room = typical.var(dim=0, correction=0)[torch.from_numpy(parents)]
    room = room.clamp_min(1e-24).masked_fill(torch.tensor(held, dtype=torch.bool), 0.0)
    wanted = torch.tensor(list(factors.values())).to(x)
    x = _solved(scm, x, torch.from_numpy(parents), room, (torch.tensor(numbers), wanted))
    return {
        graph.variable_names[i]: float(x[i])
        for i, is_held in zip(parents.tolist(), held, strict=True)
        if not is_held
    }


def _solved(
    scm: FactorSCM,
    x: Float[Tensor, " variables"],
    parents: Tensor,
    room: Tensor,
    goal: tuple[Tensor, Tensor],
) -> Float[Tensor, " variables"]:
    """The point reached by damped Gauss–Newton steps; refused where it misses the goal."""
    numbers, wanted = goal

    def values(point: Tensor) -> Tensor:
        return scm.factor_mechanism(point[None], numbers)[0]

    miss = wanted - values(x)
    for _ in range(MAX_STEPS):
        if bool((miss.abs() <= TOLERANCE * wanted.abs().clamp_min(1.0)).all()):
            return x.detach()
        J = _jacobian(values, x, len(numbers))[:, parents]
        step = room * (J.T @ (torch.linalg.pinv(J * room @ J.T) @ miss))
        length = 1.0
        while length > 1e-3:
            trial = x.clone()
            trial[parents] = x[parents] + length * step
            left = wanted - values(trial)
            if bool(left.norm() < miss.norm()):
                break
            length /= 2
        else:
            break
        x, miss = trial.detach(), left.detach()
    worst = int(miss.abs().argmax())
    raise InvalidInputError(
        f"No values of its variables give {scm.graph.factor_names[int(numbers[worst])]} the value "
        f"{float(wanted[worst]):g}; the nearest found is {float(wanted[worst] - miss[worst]):g}."
    )


def _jacobian(function: object, x: Tensor, n_rows: int) -> Tensor:
    assert callable(function)
    x = x.detach().requires_grad_()
    values = function(x)
    rows = [torch.autograd.grad(values[k], x, retain_graph=True)[0] for k in range(n_rows)]
    return torch.stack(rows)
