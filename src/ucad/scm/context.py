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
from ucad.scm.families import AffineMap, StackedMechanism, Targets
from ucad.scm.families.base import ALL

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
    """The effect of a context w on every variable: C (w − w̄), or jointly with the factors.

    The linear effect is none at the average w̄. With a joint mechanism the variables are
    x = F_X(z, w) + u where the context is known, and F_X(z), which is then what the factors say of
    the variables on average, where it is not: a recurrent network's next state depends on what its
    state and its next input are *together*.

    Attributes:
        names: of the covariates.
        mean: w̄, the average context; a model that is told no context is at this one.
        weight: C.
        acts_on: where it enters.
        joint: F_X(z, w), of factors and covariates side by side; None if the effect is linear.
    """

    names: tuple[str, ...]
    mean: Float[Tensor, " covariates"]
    weight: Float[Tensor, "variables covariates"]
    acts_on: ActsOn = ActsOn.MECHANISMS
    joint: StackedMechanism | None = None

    def __post_init__(self) -> None:
        size = (len(self.names),)
        if self.mean.shape != size or self.weight.shape[1:] != size:
            raise InvalidInputError(
                f"A context of {len(self.names)} covariates must have as many means and weights. "
                f"Got shapes {tuple(self.mean.shape)} and {tuple(self.weight.shape)}."
            )
        if not bool(torch.isfinite(self.weight).all() & torch.isfinite(self.mean).all()):
            raise InvalidInputError("The weights of a context must be finite.")
        if self.joint is not None and self.on_readings:
            raise InvalidInputError("A context that acts on readings has a linear effect only.")

    @property
    def on_readings(self) -> bool:
        """Whether it changes what is read, and nothing else."""
        return self.acts_on is ActsOn.READINGS

    def offset(self, covariates: object) -> Float[Tensor, "samples variables"]:
        """C (w − w̄) of every sample."""
        w = self.covariates(covariates)
        return (w - self.mean) @ self.weight.T

    def expected(
        self, z: Float[Tensor, "samples factors"], covariates: object, targets: Targets = ALL
    ) -> Float[Tensor, "samples variables"]:
        """F_X(z, w), where there is a joint mechanism."""
        assert self.joint is not None, "only a joint mechanism knows the variables"
        return self.joint(torch.cat([z, self.covariates(covariates).to(z)], dim=1), targets)

    def covariates(self, covariates: object) -> Float[Tensor, "samples covariates"]:
        """Covariates w as a tensor of the right shape."""
        w = torch.as_tensor(np.array(covariates, dtype=np.float64)).to(self.weight)
        if w.ndim != 2 or w.shape[1] != len(self.names):
            raise InvalidInputError(
                f"'covariates' must be samples × {len(self.names)} ({', '.join(self.names)}). "
                f"Got shape {tuple(w.shape)} instead."
            )
        return w

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

    def in_units(self, units: AffineMap) -> ContextEffect:
        """The same for variables in other units."""
        joint = None if self.joint is None else self.joint.after(units)
        return replace(self, weight=self.weight * units.scale[:, None], joint=joint)

    def with_factors(self, rho: AffineMap) -> ContextEffect:
        """The same for factors of which the former are ρ(z)."""
        if self.joint is None:
            return self
        ones = torch.ones_like(self.mean).to(rho.scale)
        inner = AffineMap(torch.cat([rho.scale, ones]), torch.cat([rho.shift, 0 * ones]))
        return replace(self, joint=self.joint.before(inner))


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
