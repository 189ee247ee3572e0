"""Affine functions, f(u) = w · u + b: the family `linear`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ucad._types import VariableSamples
from ucad.errors import InvalidInputError
from ucad.scm.families.base import ALL, AffineMap, Function, Growth, Targets

__all__ = ["AFFINE", "EMPTY", "Affine", "AffineFamily", "LinearMechanism"]


@dataclass(frozen=True, eq=False)
class LinearMechanism:
    """F(v) = W v + b.

    >>> LinearMechanism(torch.tensor([[3.0, 4.0]]), torch.zeros(1)).lipschitz()
    tensor([5.])

    Attributes:
        weight: W, targets × inputs; zero where the graph has no edge.
        bias: b, one per target.
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
class Affine:
    """f(u) = w · u + b.

    Attributes:
        parents: the variables u it looks at.
        w: one weight per parent.
        b: the constant.
    """

    parents: Int[np.ndarray, " inputs"]
    w: Float[np.ndarray, " inputs"]
    b: float

    @cached_property
    def weights(self) -> Float[np.ndarray, " weights"]:
        """(w, b)."""
        return np.concatenate([self.w, [self.b]])

    def with_weights(self, weights: Float[np.ndarray, " weights"]) -> Affine:
        """The same function with other weights."""
        return replace(self, w=weights[:-1], b=float(weights[-1]))

    def with_parents(self, parents: Int[np.ndarray, " others"]) -> Affine:
        """The same function of other variables: new ones have weight 0."""
        w = np.zeros(len(parents))
        _, new, old = np.intersect1d(parents, self.parents, return_indices=True)
        w[new] = self.w[old]
        return Affine(parents, w, self.b)

    def renamed(self, parents: Int[np.ndarray, " inputs"]) -> Affine:
        """The same function whose inputs have other numbers."""
        return replace(self, parents=parents)

    def values(self, x: VariableSamples) -> Float[np.ndarray, " samples"]:
        """W · u + b."""
        values: Float[np.ndarray, " samples"] = x[:, self.parents] @ self.w.astype(x.dtype) + self.b
        return values.astype(x.dtype, copy=False)

    def gradient(self, x: VariableSamples) -> Float[np.ndarray, "samples inputs"]:
        """The weights w, at every sample."""
        return np.broadcast_to(self.w.astype(x.dtype), (len(x), len(self.w)))

    def jacobian(self, x: VariableSamples) -> Float[np.ndarray, "samples weights"]:
        """(u, 1)."""
        return np.concatenate([x[:, self.parents], np.ones((len(x), 1), dtype=x.dtype)], axis=1)

    def growth(self, x: VariableSamples) -> Growth:
        """The new input itself."""
        return Growth(np.ones((len(x), 1), dtype=x.dtype), lambda new: new[:, :, None])

    def affine(self, scale: float, shift: float) -> Affine:
        """The function scale · f + shift."""
        return replace(self, w=self.w * scale, b=self.b * scale + shift)

    def with_input(self, at: int, scale: float, shift: float) -> Affine:
        """The function that reads scale · u + shift in place of its input number `at`."""
        w = self.w.copy()
        w[at] *= scale
        return replace(self, w=w, b=float(self.b + self.w[at] * shift))


EMPTY = Affine(np.array([], dtype=np.int64), np.zeros(0), 0.0)
"""The function of no variable: a factor that is not there."""


@dataclass(frozen=True)
class AffineFamily:
    """The family of affine functions."""

    name: str = "linear"
    is_affine: bool = True
    is_linear_in_weights: bool = True
    function_type: type[Affine] = Affine
    mechanism_type: type[LinearMechanism] = LinearMechanism

    def features(self, x: VariableSamples) -> Float[np.ndarray, "samples variables one"]:
        """The variable itself."""
        return x[:, :, None]

    def start(
        self,
        parents: Int[np.ndarray, " inputs"],
        u: Float[np.ndarray, "samples inputs"],  # noqa: ARG002
        y: Float[np.ndarray, " samples"],  # noqa: ARG002
        w: Float[np.ndarray, " samples"],  # noqa: ARG002
        seed: int,  # noqa: ARG002
        *,
        wide: bool = False,  # noqa: ARG002
    ) -> Affine:
        """Zero: the fit has a closed form."""
        return Affine(parents, np.zeros(len(parents)), 0.0)

    def mechanism(self, functions: Sequence[Function], n_inputs: int) -> LinearMechanism:
        """One row of W per function."""
        weight = np.zeros((len(functions), n_inputs))
        bias = np.zeros(len(functions))
        for t, function in enumerate(functions):
            if not isinstance(function, Affine):
                raise InvalidInputError(
                    f"A linear mechanism is made of affine functions. Got {type(function)} instead."
                )
            weight[t, function.parents], bias[t] = function.w, function.b
        return LinearMechanism(torch.tensor(weight), torch.tensor(bias))


AFFINE = AffineFamily()
