"""What a family of functions must offer: to a solver that fits them, and to the model that is kept.

A family is one file beside this one and one entry in `FAMILIES`. It brings a `Function` (numpy,
one target, cheap to fit), a `Mechanism` (torch, all targets of one side of an f-SCM) and the way
from the first to the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ucad._types import VariableSamples

__all__ = ["ALL", "AffineMap", "Family", "Function", "Growth", "Mechanism", "Targets"]

Targets: TypeAlias = Tensor | slice
"""Which targets to compute: an index tensor, or a slice for all of them."""

ALL = slice(None)


class Growth(NamedTuple):
    """∂f/∂(the weights of a further input v), one column slope_a(x) φ_b(v) per weight.

    Attributes:
        slope: what multiplies the functions of the input, at every sample.
        basis: the functions φ_b of the samples of some inputs, in a last axis.
    """

    slope: Float[np.ndarray, "samples slopes"]
    basis: Callable[[Float[np.ndarray, "samples inputs"]], Float[np.ndarray, "samples inputs b"]]

    def __call__(self, new: Float[np.ndarray, " samples"]) -> Float[np.ndarray, "samples columns"]:
        """The columns of one input."""
        columns = self.slope[:, :, None] * self.basis(new[:, None])
        return np.asarray(columns.reshape(len(new), -1))


class AffineMap(NamedTuple):
    """The map v ↦ scale · v + shift, one pair per coordinate."""

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


@runtime_checkable
class StackedMechanism(Mechanism, Protocol):
    """A mechanism made of a family's functions, closed under affine changes of units."""

    def after(self, outer: AffineMap) -> StackedMechanism:
        """Scale · F(v) + shift."""
        ...

    def before(self, inner: AffineMap) -> StackedMechanism:
        """F(scale · v + shift)."""
        ...


@runtime_checkable
class Function(Protocol):
    """A function f(u) of some of the variables, u = x[:, parents], with weights to be fitted."""

    @property
    def parents(self) -> Int[np.ndarray, " inputs"]:
        """The variables it looks at."""
        ...

    @property
    def weights(self) -> Float[np.ndarray, " weights"]:
        """All fitted numbers, flat."""
        ...

    def with_weights(self, weights: Float[np.ndarray, " weights"]) -> Function:
        """The same function with other weights."""
        ...

    def with_parents(self, parents: Int[np.ndarray, " others"]) -> Function:
        """The same function of other variables: new ones have no weight yet."""
        ...

    def renamed(self, parents: Int[np.ndarray, " inputs"]) -> Function:
        """The same function whose inputs have other numbers."""
        ...

    def values(self, x: VariableSamples) -> Float[np.ndarray, " samples"]:
        """f(x) at every sample."""
        ...

    def gradient(self, x: VariableSamples) -> Float[np.ndarray, "samples inputs"]:
        """∂f/∂u at every sample."""
        ...

    def jacobian(self, x: VariableSamples) -> Float[np.ndarray, "samples weights"]:
        """∂f/∂weights at every sample."""
        ...

    def growth(self, x: VariableSamples) -> Growth:
        """∂f/∂(the weights that one more input would have), as a function of that input."""
        ...

    def affine(self, scale: float, shift: float) -> Function:
        """The function scale · f + shift."""
        ...

    def with_input(self, at: int, scale: float, shift: float) -> Function:
        """The function that reads scale · u + shift in place of its input number `at`."""
        ...


@runtime_checkable
class Family(Protocol):
    """A family of functions: how one starts, and what many of them are together."""

    @property
    def name(self) -> str:
        """As the user writes it."""
        ...

    @property
    def is_affine(self) -> bool:
        """Whether the paper's identifiability up to scale applies."""
        ...

    @property
    def is_linear_in_weights(self) -> bool:
        """Whether least squares has a closed form."""
        ...

    @property
    def function_type(self) -> type[Function]:
        """What its functions are."""
        ...

    @property
    def mechanism_type(self) -> type[StackedMechanism]:
        """What `mechanism` makes: a dataclass, whose fields are what a run folder stores."""
        ...

    def features(self, x: VariableSamples) -> Float[np.ndarray, "samples variables functions"]:
        """Functions of one variable, by which candidates are screened."""
        ...

    def start(
        self,
        parents: Int[np.ndarray, " inputs"],
        u: Float[np.ndarray, "samples inputs"],
        y: Float[np.ndarray, " samples"],
        w: Float[np.ndarray, " samples"],
        seed: int,
        *,
        wide: bool = False,
    ) -> Function:
        """A function to start fitting y from, w the square root of each sample's weight."""
        ...

    def mechanism(self, functions: Sequence[Function], n_inputs: int) -> StackedMechanism:
        """All functions of one side of an f-SCM; affine functions are members of every family."""
        ...


def tanh_in_place(values: Float[np.ndarray, "samples units"]) -> Float[np.ndarray, "samples units"]:
    """The hyperbolic tangent: torch takes half the time of numpy, and it is most of a fit."""
    return torch.from_numpy(values).tanh_().numpy()
