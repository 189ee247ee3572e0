"""Student's t noise, for tails heavier than normal ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy.special import ndtri, stdtr, stdtrit
from torch import Tensor

from ucad.errors import InvalidInputError
from ucad.scm.noise.base import Given, NoiseFamily

__all__ = ["MIN_FREEDOM", "StudentT"]

MIN_FREEDOM = 2.1
"""The fewest degrees of freedom: below 2 there is no variance."""

EDGE = 1e-12
"""How near to 0 or 1 a quantile may be: beyond it a normal one is infinite."""


@dataclass(frozen=True, eq=False)
class StudentT(NoiseFamily):
    """x_j = F_X(z)_j + s_j · t with ν_j degrees of freedom.

    Attributes:
        freedom: ν, one per variable.
        ratio: s_j in units of the standard deviation of x_j − F_X(z)_j.
    """

    name: ClassVar[str] = "student"
    freedom: Float[Tensor, " variables"]
    ratio: Float[Tensor, " variables"]

    def __post_init__(self) -> None:
        if not bool((self.freedom >= MIN_FREEDOM).all()):
            raise InvalidInputError(
                f"Degrees of freedom must be at least {MIN_FREEDOM}. Got "
                f"{float(self.freedom.min())} instead."
            )

    def log_prob(
        self,
        x: Float[Tensor, "samples variables"],
        given: Given,
        floor: float,
        is_left_out: Bool[Tensor, "samples variables"] | None = None,  # noqa: ARG002
    ) -> Float[Tensor, "samples variables"]:
        """The density of s · t around F_X(z)."""
        nu, square = self._parts(given, floor)
        residual = x - given.mechanism(given.z, given.targets)
        constant = torch.lgamma((nu + 1) / 2) - torch.lgamma(nu / 2)
        constant = constant - 0.5 * (nu * math.pi * square).log()
        return constant - (nu + 1) / 2 * torch.log1p(residual**2 / (nu * square))

    def draw(
        self, quantile: Float[Tensor, "samples variables"], given: Given
    ) -> Float[Tensor, "samples variables"]:
        """F_X(z) + s · T_ν⁻¹(quantile)."""
        nu, square = self._parts(given, 0.0)
        t = stdtrit(nu.cpu().numpy(), quantile.cpu().numpy())
        noise = torch.as_tensor(t).to(quantile) * square.sqrt()
        return given.mechanism(given.z, given.targets) + noise

    def quantile_residual(
        self, x: Float[Tensor, "samples variables"], given: Given
    ) -> Float[Tensor, "samples variables"]:
        """Φ⁻¹(T_ν((x − F_X(z)) / s))."""
        nu, square = self._parts(given, 1e-300)
        t = (x - given.mechanism(given.z, given.targets)) / square.sqrt()
        quantile = stdtr(nu.cpu().numpy(), t.detach().cpu().numpy())
        return torch.as_tensor(ndtri(np.clip(quantile, EDGE, 1 - EDGE))).to(x)

    def _parts(self, given: Given, floor: float) -> tuple[Tensor, Tensor]:
        """ν and s²."""
        nu = self.freedom[given.targets].to(given.scale)
        spread = given.scale[given.targets] * self.ratio[given.targets].to(given.scale)
        return nu, (spread**2).clamp_min(floor)
