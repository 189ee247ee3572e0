"""Expected log-counts, E[log(1 + count)] at a rate exp(w · u + b): what F_X is of counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ucad.scm.families.base import ALL, AffineMap, Targets

__all__ = ["MAX_LOG_RATE", "CountMechanism", "expected_log_count"]

MAX_LOG_RATE = 12.0
"""The highest logarithm of a rate, about 160,000 counts: beyond it exponentials are extrapolation,
and nothing overflows below it."""

N_NODES = 48
"""Nodes of the integral: its error is below 1e-4 up to the highest rate."""

POWER = 4
"""s = 1 − v⁴ puts the nodes near s = 1, where the integrand of a high rate is steep."""

_v, _w = np.polynomial.legendre.leggauss(N_NODES)
_NODES = 1 - ((_v + 1) / 2) ** POWER
_WEIGHTS = _w / 2 * POWER * ((_v + 1) / 2) ** (POWER - 1) / -np.log(_NODES)


def expected_log_count(
    log_rate: Float[Tensor, "samples targets"], dispersion: Float[Tensor, " targets"]
) -> Float[Tensor, "samples targets"]:
    """E[log(1 + c)] of negative binomial counts c of mean μ and variance μ + φ μ².

    ∫₀¹ (1 − G(s)) / (−log s) ds with G(s) = E[s^c] = (1 + φ μ (1 − s))^(−1/φ), since
    log(1 + c) = ∫₀^∞ (1 − e^(−tc)) e^(−t) / t dt. O(48 · samples · targets).

    >>> expected_log_count(torch.zeros(1, 1), torch.full((1,), 1e-6)).round(decimals=3)
    tensor([[0.5730]])
    """
    mu = log_rate.clamp(max=MAX_LOG_RATE).exp()
    total = torch.zeros_like(mu)
    for s, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
        total = total - weight * torch.expm1(-torch.log1p(dispersion * mu * (1 - s)) / dispersion)
    return total


@dataclass(frozen=True, eq=False)
class CountMechanism:
    """F(v) = scale · E[log(1 + count)] + shift, counts of rate exp(W v + b) and dispersion φ.

    Attributes:
        weight: W, targets × inputs; zero where the graph has no edge.
        bias: b, one per target.
        dispersion: φ, the part of a count's variance beyond Poisson's in units of mean².
        scale: the units of the target.
        shift: where its zero is.

    >>> one = torch.ones(1).double()
    >>> mechanism = CountMechanism(one[:, None], 0 * one, 1e-6 * one, one, 0 * one)
    >>> rare, frequent = mechanism(torch.tensor([[-7.0], [7.0]]).double())[:, 0].tolist()
    >>> rare < 0.001, 6.9 < frequent < 7.1  # at a high rate log(1 + count) is about its logarithm
    (True, True)
    """

    weight: Float[Tensor, "targets inputs"]
    bias: Float[Tensor, " targets"]
    dispersion: Float[Tensor, " targets"]
    scale: Float[Tensor, " targets"]
    shift: Float[Tensor, " targets"]

    @property
    def is_affine(self) -> bool:
        """False: the logarithm of the rate is affine, its expected reading is not."""
        return False

    def log_rate(
        self, inputs: Float[Tensor, "samples inputs"], targets: Targets = ALL
    ) -> Float[Tensor, "samples some_targets"]:
        """W v + b."""
        return inputs @ self.weight[targets].T + self.bias[targets]

    def __call__(
        self, inputs: Float[Tensor, "samples inputs"], targets: Targets = ALL
    ) -> Float[Tensor, "samples some_targets"]:
        """The expected reading."""
        expected = expected_log_count(self.log_rate(inputs, targets), self.dispersion[targets])
        return self.scale[targets] * expected + self.shift[targets]

    def lipschitz(self) -> Float[Tensor, " targets"]:
        """|scale| · ‖W_t‖₂: a logarithm of 1 + count grows no faster than that of its rate."""
        return self.scale.abs() * self.weight.norm(dim=1)

    def uses(self) -> Float[Tensor, "targets inputs"]:
        """|W|."""
        return self.weight.abs()

    def after(self, outer: AffineMap) -> CountMechanism:
        """The same in other units of the target."""
        return replace(
            self, scale=outer.scale * self.scale, shift=outer.scale * self.shift + outer.shift
        )

    def before(self, inner: AffineMap) -> CountMechanism:
        """The same in other units of the inputs."""
        return replace(
            self, weight=self.weight * inner.scale, bias=self.bias + self.weight @ inner.shift
        )
