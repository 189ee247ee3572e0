"""Negative binomial counts, of which log(1 + count / depth) is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy.special import ndtri
from torch import Tensor

from ucad.data.readings import depths
from ucad.errors import InvalidInputError
from ucad.scm.families.counts import MAX_LOG_RATE, CountMechanism
from ucad.scm.noise.base import Given, NoiseFamily

__all__ = ["NegativeBinomial", "count_log_prob"]

EDGE = 1e-12
"""How near to 0 or 1 a quantile may be: beyond it a normal one is infinite."""


def count_log_prob(
    count: Float[Tensor, "samples variables"],
    log_mean: Float[Tensor, "samples variables"],
    dispersion: Float[Tensor, " variables"],
) -> Float[Tensor, "samples variables"]:
    """Negative binomial, of mean μ and variance μ + φ μ².

    log Γ(c + 1/φ) − log Γ(1/φ) − log c! + c log(φ μ) − (c + 1/φ) log(1 + φ μ)
    """
    size = 1 / dispersion
    spread = dispersion.log() + log_mean
    ways = torch.lgamma(count + size) - torch.lgamma(size) - torch.lgamma(count + 1)
    return ways + count * spread - (count + size) * torch.nn.functional.softplus(spread)


@dataclass(frozen=True, eq=False)
class NegativeBinomial(NoiseFamily):
    """x_j = scale · log(1 + c_j / d) + shift with c_j ~ NB(d · exp(W z + b)_j, φ_j).

    W, b, φ, scale and shift are those of F_X, a `CountMechanism`. The depth d of a sample is read
    off its values, which are whole multiples of 1 / d; samples are drawn at a depth of 1.
    """

    name: ClassVar[str] = "counts"

    def log_prob(
        self,
        x: Float[Tensor, "samples variables"],
        given: Given,
        floor: float,  # noqa: ARG002  (a probability is at most 1)
        is_left_out: Bool[Tensor, "samples variables"] | None = None,
    ) -> Float[Tensor, "samples variables"]:
        """The probability of the count, not a density."""
        F = _mechanism(given)
        rate = self._rate(x, given)
        seen = None if is_left_out is None else ~is_left_out.cpu().numpy()
        depth = torch.as_tensor(depths(rate.cpu().numpy(), seen)).to(x)[:, None]
        log_rate = F.log_rate(given.z, given.targets).clamp(max=MAX_LOG_RATE)
        return count_log_prob(rate * depth, log_rate + depth.log(), F.dispersion[given.targets])

    def draw(
        self, quantile: Float[Tensor, "samples variables"], given: Given
    ) -> Float[Tensor, "samples variables"]:
        """The smallest count whose cumulative probability is at least the quantile, as a value."""
        F, targets = _mechanism(given), given.targets
        size, chance = self._law(given)
        edge = quantile.clamp(EDGE, 1 - EDGE).cpu().numpy()
        from scipy import stats

        count = torch.as_tensor(stats.nbinom.ppf(edge, size, chance)).to(quantile)
        return F.scale[targets] * count.log1p() + F.shift[targets]

    def quantile_residual(
        self, x: Float[Tensor, "samples variables"], given: Given
    ) -> Float[Tensor, "samples variables"]:
        """Φ⁻¹ of (P(c' ≤ c) + P(c' < c)) / 2, at a depth of 1."""
        from scipy import stats

        count = self._rate(x, given).round().cpu().numpy()
        size, chance = self._law(given)
        below, up_to = (stats.nbinom.cdf(count + step, size, chance) for step in (-1, 0))
        middle = np.clip((below + up_to) / 2, EDGE, 1 - EDGE)
        return torch.as_tensor(ndtri(middle)).to(x)

    def _rate(self, x: Tensor, given: Given) -> Tensor:
        """Count / depth of every entry."""
        F, targets = _mechanism(given), given.targets
        return torch.expm1(((x - F.shift[targets]) / F.scale[targets]).clamp_min(0.0)).detach()

    def _law(self, given: Given) -> tuple[np.ndarray, np.ndarray]:
        """The size 1/φ and the chance 1 / (1 + φ μ) of scipy's negative binomial."""
        F, targets = _mechanism(given), given.targets
        mu = F.log_rate(given.z, targets).clamp(max=MAX_LOG_RATE).exp().detach().cpu().numpy()
        phi = F.dispersion[targets].cpu().numpy()
        return np.broadcast_to(1 / phi, mu.shape), 1 / (1 + phi * mu)


def _mechanism(given: Given) -> CountMechanism:
    if not isinstance(given.mechanism, CountMechanism):
        raise InvalidInputError(
            "Counts need an F_X of counts (CountMechanism). "
            f"Got a {type(given.mechanism).__name__} instead."
        )
    return given.mechanism
