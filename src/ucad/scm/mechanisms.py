"""Mechanisms F_Z and F_X: linear maps and small networks for all targets at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from ucad.errors import InvalidInputError

__all__ = [
    "AffineMap",
    "Bijection",
    "LinearMechanism",
    "MLPMechanism",
    "Mechanism",
    "Reparametrised",
    "Targets",
]

Targets: TypeAlias = Tensor | slice
"""Which targets to compute: an index tensor, or a slice for all of them."""

ALL = slice(None)


class AffineMap(NamedTuple):
    """The map v ↦ scale · v + shift, one pair a coordinate."""

    scale: Float[Tensor, " coordinates"]
    shift: Float[Tensor, " coordinates"]

    def inverse(self) -> AffineMap:
        """The map that undoes this one."""
        return AffineMap(1 / self.scale, -self.shift / self.scale)


@runtime_checkable
class Mechanism(Protocol):
    """What a mechanism of an f-SCM can do: F maps all inputs to some or all targets."""

    def __call__(
        self, inputs: Float[Tensor, "samples inputs"], targets: Targets = ALL
    ) -> Float[Tensor, "samples targets"]:
        """F(inputs), the chosen targets only."""
        ...

    def lipschitz(self) -> Float[Tensor, " targets"]:
        """A constant L for every target, |F(a) − F(b)| ≤ L ‖a − b‖₂ for all a and b."""
        ...

    def uses(self) -> Float[Tensor, "targets inputs"]:
        """How much weight a target gives an input; 0 where it does not depend on it."""
        ...

    @property
    def is_affine(self) -> bool:
        """Whether F is affine, so that the paper's identifiability up to scale applies."""
        ...


@dataclass(frozen=True, eq=False)
class LinearMechanism:
    """F(v) = W v + b.

    >>> LinearMechanism(torch.tensor([[3.0, 4.0]]), torch.zeros(1)).lipschitz()
    tensor([5.])

    Attributes:
        weight: W, targets × inputs; zero where the graph has no edge.
        bias: b, one a target.
    """

    weight: Float[Tensor, "targets inputs"]
    bias: Float[Tensor, " targets"]

    @property
    def is_affine(self) -> bool:
        """True."""
        return True

    def __call__(
        self, inputs: Float[Tensor, "samples inputs"], targets: Targets = ALL
    ) -> Float[Tensor, "samples some_targets"]:
        """W v + b: O(samples · inputs · targets)."""
        return inputs @ self.weight[targets].T + self.bias[targets]

    def lipschitz(self) -> Float[Tensor, " targets"]:
        """‖W_t‖₂, exact."""
        return self.weight.norm(dim=1)

    def uses(self) -> Float[Tensor, "targets inputs"]:
        """|W|."""
        return self.weight.abs()

    def after(self, outer: AffineMap) -> LinearMechanism:
        """Scale · (W v + b) + shift."""
        return LinearMechanism(
            outer.scale[:, None] * self.weight, outer.scale * self.bias + outer.shift
        )

    def before(self, inner: AffineMap) -> LinearMechanism:
        """W (scale · v + shift) + b."""
        return LinearMechanism(self.weight * inner.scale, self.bias + self.weight @ inner.shift)


@dataclass(frozen=True, eq=False)
class MLPMechanism:
    """F_t(v) = w2_t · tanh(W1_t v + b1_t) + b2_t, one hidden layer a target.

    Attributes:
        w1: W1, targets × hidden × inputs; zero where the graph has no edge.
        b1: targets × hidden.
        w2: targets × hidden.
        b2: one a target.
    """

    w1: Float[Tensor, "targets hidden inputs"]
    b1: Float[Tensor, "targets hidden"]
    w2: Float[Tensor, "targets hidden"]
    b2: Float[Tensor, " targets"]

    @property
    def is_affine(self) -> bool:
        """False."""
        return False

    def __call__(
        self, inputs: Float[Tensor, "samples inputs"], targets: Targets = ALL
    ) -> Float[Tensor, "samples some_targets"]:
        """O(samples · inputs · targets · hidden), in blocks of samples of bounded memory."""
        w1, b1, w2, b2 = (getattr(self, f.name)[targets] for f in fields(self))
        block = max(1, _BLOCK_ELEMENTS // max(1, b1.numel()))
        pieces = [
            (torch.tanh(torch.tensordot(part, w1, dims=([1], [2])) + b1) * w2).sum(dim=2) + b2
            for part in torch.split(inputs, block)
        ]
        return torch.cat(pieces)

    def lipschitz(self) -> Float[Tensor, " targets"]:
        """An upper bound, from |tanh′| ≤ 1: min(Σ_h |w2_h| ‖W1_h‖₂, ‖w2‖₂ ‖W1‖)."""
        by_unit = (self.w2.abs() * self.w1.norm(dim=2)).sum(dim=1)
        by_layer = self.w2.norm(dim=1) * torch.linalg.matrix_norm(self.w1, ord=2)
        return torch.minimum(by_unit, by_layer)

    def uses(self) -> Float[Tensor, "targets inputs"]:
        """Σ_h |w2_h| |W1_h|, a bound on the slope along each input."""
        return torch.einsum("th,thi->ti", self.w2.abs(), self.w1.abs())

    def after(self, outer: AffineMap) -> MLPMechanism:
        """Scale · F(v) + shift."""
        w2 = outer.scale[:, None] * self.w2
        return MLPMechanism(self.w1, self.b1, w2, outer.scale * self.b2 + outer.shift)

    def before(self, inner: AffineMap) -> MLPMechanism:
        """F(scale · v + shift)."""
        return MLPMechanism(
            self.w1 * inner.scale, self.b1 + self.w1 @ inner.shift, self.w2, self.b2
        )


_BLOCK_ELEMENTS = 2**24


@dataclass(frozen=True)
class Bijection:
    """A one-to-one map ρ of the real line and its inverse, for one factor."""

    forward: Callable[[Tensor], Tensor]
    inverse: Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Reparametrised:
    """A mechanism with one bijection a factor put before its inputs or after its targets.

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
