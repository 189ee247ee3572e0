"""Normal noise, x_j ~ N(F_X(z)_j, scale_j²)."""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ucad.scm.noise.base import Given, NoiseFamily

__all__ = ["GAUSSIAN", "Gaussian"]


class Gaussian(NoiseFamily):
    """The normal law."""

    name: ClassVar[str] = "gaussian"

    def log_prob(
        self,
        x: Float[Tensor, "samples variables"],
        given: Given,
        floor: float,
        is_left_out: Bool[Tensor, "samples variables"] | None = None,  # noqa: ARG002
    ) -> Float[Tensor, "samples variables"]:
        """Log N(x; F_X(z), max(scale², floor))."""
        residual = x - given.mechanism(given.z, given.targets)
        variance = (given.scale[given.targets] ** 2).clamp_min(floor)
        return -0.5 * (residual**2 / variance + variance.log() + math.log(2 * math.pi))

    def draw(
        self, quantile: Float[Tensor, "samples variables"], given: Given
    ) -> Float[Tensor, "samples variables"]:
        """F_X(z) + scale · Φ⁻¹(quantile)."""
        noise = torch.special.ndtri(quantile) * given.scale[given.targets]
        return given.mechanism(given.z, given.targets) + noise

    def quantile_residual(
        self, x: Float[Tensor, "samples variables"], given: Given
    ) -> Float[Tensor, "samples variables"]:
        """(x − F_X(z)) / scale."""
        left = x - given.mechanism(given.z, given.targets)
        return left / given.scale[given.targets].clamp_min(1e-300)


GAUSSIAN = Gaussian()
