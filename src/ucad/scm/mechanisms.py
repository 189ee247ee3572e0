"""Mechanisms seen through a one-to-one change of every factor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ucad.errors import InvalidInputError
from ucad.scm.families.base import ALL, Mechanism, Targets

__all__ = ["Bijection", "Reparametrised"]


@dataclass(frozen=True)
class Bijection:
    """A one-to-one map ρ of the real line and its inverse, for one factor."""

    forward: Callable[[Tensor], Tensor]
    inverse: Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Reparametrised:
    """A mechanism with one bijection per factor put before its inputs or after its targets.

    Attributes:
        base: the mechanism F.
        inputs: ρ for every input, F(ρ(v)); or None.
        targets: ρ for every target, ρ⁻¹(F(v)); or None.
    """

    base: Mechanism
    inputs: tuple[Bijection, ...] | None = None
    targets: tuple[Bijection, ...] | None = None

    @property
    def is_affine(self) -> bool:
        """False."""
        return False

    def __call__(
        self, inputs: Float[Tensor, "samples inputs"], targets: Targets = ALL
    ) -> Float[Tensor, "samples some_targets"]:
        """ρ⁻¹ ∘ F, or F ∘ ρ."""
        if self.inputs is not None:
            columns = [rho.forward(inputs[:, k]) for k, rho in enumerate(self.inputs)]
            inputs = torch.stack(columns, dim=1)
        output = self.base(inputs, targets)
        if self.targets is None:
            return output
        chosen = torch.arange(len(self.targets))[targets].tolist()
        columns = [self.targets[k].inverse(output[:, at]) for at, k in enumerate(chosen)]
        return torch.stack(columns, dim=1) if columns else output

    def lipschitz(self) -> Float[Tensor, " targets"]:
        """Not known for arbitrary bijections."""
        raise InvalidInputError("No Lipschitz constant is known for an arbitrary bijection.")

    def uses(self) -> Float[Tensor, "targets inputs"]:
        """That of the mechanism itself."""
        return self.base.uses()
