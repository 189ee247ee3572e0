"""What an observed context does to the variables, and samples as they would be at its average."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ucad.errors import InvalidInputError

if TYPE_CHECKING:
    from ucad.data import InterventionalData
    from ucad.scm.factor_scm import FactorSCM

__all__ = ["ActsOn", "ContextEffect", "at_average_context"]


class ActsOn(StrEnum):
    """Where a context enters.

    MECHANISMS: x_j = F_X(z)_j + C_j (w − w̄) + u_j. Factors read the variables as they are, so the
    context travels on through them; a clamp cuts it off.

    READINGS: x = x° + C (w − w̄), and x° follows the model. The context changes what is read of a
    variable, clamped or not, and no factor ever sees it: a batch, a depth.
    """

    MECHANISMS = "mechanisms"
    READINGS = "readings"


@dataclass(frozen=True, eq=False)
class ContextEffect:
    """The linear effect C (w − w̄) of a context w on every variable; none at the average w̄.

    Attributes:
        names: of the covariates.
        mean: w̄, the average context; a model that is told no context is at this one.
        weight: C.
        acts_on: where it enters.
    """

    names: tuple[str, ...]
    mean: Float[Tensor, " covariates"]
    weight: Float[Tensor, "variables covariates"]
    acts_on: ActsOn = ActsOn.MECHANISMS

    def __post_init__(self) -> None:
        size = (len(self.names),)
        if self.mean.shape != size or self.weight.shape[1:] != size:
            raise InvalidInputError(
                f"A context of {len(self.names)} covariates must have as many means and weights. "
                f"Got shapes {tuple(self.mean.shape)} and {tuple(self.weight.shape)}."
            )
        if not bool(torch.isfinite(self.weight).all() & torch.isfinite(self.mean).all()):
            raise InvalidInputError("The weights of a context must be finite.")

    @property
    def on_readings(self) -> bool:
        """Whether it changes what is read, and nothing else."""
        return self.acts_on is ActsOn.READINGS

    def offset(self, covariates: object) -> Float[Tensor, "samples variables"]:
        """C (w − w̄) of every sample."""
        w = torch.as_tensor(np.array(covariates, dtype=np.float64)).to(self.weight)
        if w.ndim != 2 or w.shape[1] != len(self.names):
            raise InvalidInputError(
                f"'covariates' must be samples × {len(self.names)} ({', '.join(self.names)}). "
                f"Got shape {tuple(w.shape)} instead."
            )
        return (w - self.mean) @ self.weight.T

    def at(self, values: Mapping[str, str]) -> Float[np.ndarray, " covariates"]:
        """The context with some columns at a number or a text, the others at their average.

        >>> effect = ContextEffect(("batch=a", "age"), torch.ones(2), torch.ones(3, 2))
        >>> effect.at({"batch": "a"})
        array([1., 1.])
        """
        w = self.mean.cpu().numpy().astype(np.float64)
        for column, value in values.items():
            own = [at for at, name in enumerate(self.names) if name.partition("=")[0] == column]
            label = f"{column}={value}"
            if label in self.names:
                w[own] = 0.0
                w[self.names.index(label)] = 1.0
            elif column in self.names and is_number(value):
                w[self.names.index(column)] = float(value)
            else:
                raise InvalidInputError(
                    f"The context cannot be '{label}'. It has {', '.join(self.names)}."
                )
        return w

    def scaled(self, scale: Float[Tensor, " variables"]) -> ContextEffect:
        """The same for variables in other units."""
        return replace(self, weight=self.weight * scale[:, None])


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def at_average_context(scm: FactorSCM, data: InterventionalData) -> InterventionalData:
    """The samples as they would have been at the average context, clamps as they are.

    For a context that acts on readings, x − C (w − w̄). For one that acts on mechanisms, the noise
    is what is left, u = x − F_X(τ(x)) − C (w − w̄), and the model is solved with it again; clamped
    variables keep their values. Residuals stay what they are. What comes back has no context, so
    whatever is true of a model without one can be asked of it.
    """
    if scm.context is None or data.context is None:
        return data if data.context is None else replace(data, context=None)
    w = data.context.aligned(scm.context.names).values
    if scm.context.on_readings:
        x = data.x - scm.context.offset(w).cpu().numpy()
    else:
        x = _solved(scm, data, scm.abduct(data.x, covariates=w)).detach().cpu().numpy()
    return replace(data, x=x.astype(data.x.dtype), context=None, is_part=True)


def _solved(scm: FactorSCM, data: InterventionalData, u: Tensor) -> Tensor:
    """The variables for given noise, clamped ones as they were observed."""
    observed = scm.tensor(data.x)
    clamped = torch.tensor(data.is_left_out, device=observed.device)
    x, graph = observed.clone(), scm.graph
    z = x.new_zeros(len(x), graph.n_factors)
    for level in range(int(graph.factor_level.max(initial=-1)) + 2):
        some = torch.from_numpy(np.flatnonzero(graph.variable_level == level))
        made = scm.variable_mechanism(z, some) + u[:, some]
        x[:, some] = torch.where(clamped[:, some], observed[:, some], made)
        factors = torch.from_numpy(np.flatnonzero(graph.factor_level == level))
        z[:, factors] = scm.factor_mechanism(x, factors)
    return x
