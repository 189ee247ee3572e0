"""An augmented Lagrangian for K problems at once, each with its own rates, and its Adam.

The same updates as Cooper's alternating primal-dual optimiser on an augmented Lagrangian with
inequality constraints, whose multipliers cannot have a learning rate for each problem.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["GROWTH_TOLERANCE", "Adam", "AugmentedLagrangian"]

GROWTH_TOLERANCE = 1e-4
"""A penalty grows as long as its constraint is violated by more than this (Cooper's default)."""

Constraints = Float[Tensor, "configurations constraints"]
PerConfiguration = Float[Tensor, " configurations"]
Flat = Float[Tensor, "configurations parameters"]


@dataclass(frozen=True, eq=False)
class AugmentedLagrangian:
    """Multipliers λ and penalty coefficients ρ_c of the constraints v ≤ 0.

    min_x max_{λ ≥ 0} f(x) + Σ_c (max(λ_c + ρ_c v_c(x), 0)² − λ_c²) / (2 ρ_c)

    In each step: `ascend` with v(x_t), then descend on the Lagrangian with the new λ. Cooper takes
    the primal step first and then evaluates v again at x_{t+1}; that is the same sequence if the
    first `ascend` is left out, and it evaluates v once per step. Likewise `grow` at the end of an
    epoch is `grow` at the start of the next one.

    Attributes:
        multipliers: λ ≥ 0.
        penalty_coefficient: ρ_c > 0. At 0 the formula divides by zero.
    """

    multipliers: Constraints
    penalty_coefficient: Constraints

    @classmethod
    def start(cls, violations: Constraints, penalty: float) -> AugmentedLagrangian:
        """λ = 0 and one initial penalty for all."""
        return cls(torch.zeros_like(violations), torch.full_like(violations, penalty))

    def penalty(self, violations: Constraints) -> PerConfiguration:
        """What the constraints add to the objective of every configuration."""
        pushed = torch.relu(self.multipliers + self.penalty_coefficient * violations)
        terms = (pushed.square() - self.multipliers.square()) / self.penalty_coefficient
        return 0.5 * terms.sum(dim=1)

    def ascend(self, violations: Constraints, dual_rate: PerConfiguration) -> AugmentedLagrangian:
        """λ ← max(λ + η v, 0): projected gradient ascent."""
        step = dual_rate[:, None] * violations
        return AugmentedLagrangian(torch.relu(self.multipliers + step), self.penalty_coefficient)

    def grow(
        self, violations: Constraints, growth: PerConfiguration, tolerance: float = GROWTH_TOLERANCE
    ) -> AugmentedLagrangian:
        """ρ_c ← γ ρ_c where a constraint is violated by more than the tolerance; once per epoch."""
        grown = self.penalty_coefficient * growth[:, None]
        violated = violations > tolerance
        return AugmentedLagrangian(
            self.multipliers, torch.where(violated, grown, self.penalty_coefficient)
        )


@dataclass(frozen=True, eq=False)
class Adam:
    """Adam (Kingma and Ba) on one flat vector per configuration, each with its own rate and clock.

    Attributes:
        mean: running mean of the gradient.
        square: running mean of its square.
        steps: how many steps each configuration has taken.
    """

    mean: Flat
    square: Flat
    steps: PerConfiguration

    @classmethod
    def start(cls, values: Flat) -> Adam:
        """No memory yet."""
        return cls(
            torch.zeros_like(values), torch.zeros_like(values), values.new_zeros(len(values))
        )

    def step_(
        self,
        values: Flat,
        gradient: Flat,
        rate: PerConfiguration,
        betas: tuple[float, float] = (0.9, 0.999),
    ) -> None:
        """Moves the values downhill, in place."""
        slow, slower = betas
        self.steps.add_(1)
        self.mean.lerp_(gradient, 1 - slow)
        self.square.mul_(slower).addcmul_(gradient, gradient, value=1 - slower)
        scale = (1 - slower**self.steps).sqrt()[:, None]
        denominator = self.square.sqrt().div_(scale).add_(1e-8)
        values.addcdiv_(self.mean * (-rate / (1 - slow**self.steps))[:, None], denominator)
