"""Small networks, f(u) = w2 · tanh(w1 u + b1) + b2: the family `mlp`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ucad._types import VariableSamples
from ucad.errors import InvalidInputError
from ucad.scm.families.affine import Affine
from ucad.scm.families.base import (
    ALL,
    AffineMap,
    Function,
    Growth,
    Targets,
    tanh_in_place,
)

__all__ = ["NETWORK", "MLPMechanism", "Network", "NetworkFamily"]

HIDDEN = 16
"""Units of the hidden layer; the paper does not say how many its simulator has."""

WIDE_HIDDEN = 24
"""Units where a fit of the usual size is stuck: half as many again hardly ever are."""

SLOPES = (1.0, 2.0, 4.0)
"""Slopes of the sigmoids among the screening features: between them and the polynomials they
follow a random network of one standardised input to a variance of some 1e-4."""

STRAIGHT = 1e-4
"""ε of an affine function among networks, ε⁻¹ tanh(ε w·u), which it is but for ε² (w·u)³ / 3."""

START_RIDGE = 1e-2
"""Shrinkage of the first output weights, as a share of the samples: random hidden units overlap."""

MAX_KEPT = 10_000
"""Samples up to which the hidden units of the last call are kept: 640 kB per function."""

_BLOCK_ELEMENTS = 2**20
"""Numbers held at a time while a mechanism is evaluated: 8 MiB in double precision, which fits a
cache (1,000 targets of 4,000 samples take 0.4 s in such blocks, 1.2 s in blocks of 128 MiB)."""


@dataclass(frozen=True, eq=False)
class MLPMechanism:
    """F_t(v) = w2_t · tanh(W1_t v + b1_t) + b2_t, one hidden layer per target.

    Attributes:
        w1: W1, targets × hidden × inputs; zero where the graph has no edge.
        b1: targets × hidden.
        w2: targets × hidden.
        b2: one per target.
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
        """O(samples · inputs · targets · hidden), in blocks of samples of bounded memory.

        A target without inputs is a constant, computed once.
        """
        some = MLPMechanism(*(getattr(self, f.name)[targets] for f in fields(self)))
        varies = some.w1.requires_grad | (some.w1 != 0).any(dim=2).any(dim=1)
        if varies.all():
            return some._values(inputs)
        values = some._values(inputs.new_zeros(1, inputs.shape[1])).repeat(len(inputs), 1)
        if varies.any():
            made = MLPMechanism(*(getattr(some, f.name)[varies] for f in fields(self)))
            values[:, varies] = made._values(inputs)
        return values

    def _values(self, inputs: Float[Tensor, "samples inputs"]) -> Float[Tensor, "samples targets"]:
        """All targets, block by block."""
        block = max(1, _BLOCK_ELEMENTS // max(1, self.b1.numel()))
        pieces = [
            (torch.tanh(torch.tensordot(part, self.w1, dims=([1], [2])) + self.b1) * self.w2)
            .sum(dim=2)
            .add(self.b2)
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


@dataclass(frozen=True, eq=False)
class Network:
    """f(u) = w2 · tanh(w1 u + b1) + b2.

    Attributes:
        parents: the variables u it looks at.
        w1: weights of the hidden layer.
        b1: biases of the hidden layer.
        w2: weights of the output.
        b2: bias of the output.
    """

    parents: Int[np.ndarray, " inputs"]
    w1: Float[np.ndarray, "hidden inputs"]
    b1: Float[np.ndarray, " hidden"]
    w2: Float[np.ndarray, " hidden"]
    b2: float

    @cached_property
    def weights(self) -> Float[np.ndarray, " weights"]:
        """(w1, b1, w2, b2)."""
        return np.concatenate([self.w1.ravel(), self.b1, self.w2, [self.b2]])

    def with_weights(self, weights: Float[np.ndarray, " weights"]) -> Network:
        """The same function with other weights."""
        size, hidden = self.w1.size, len(self.b1)
        w1, b1, w2 = np.split(weights[:-1], [size, size + hidden])
        return replace(self, w1=w1.reshape(self.w1.shape), b1=b1, w2=w2, b2=float(weights[-1]))

    def with_parents(self, parents: Int[np.ndarray, " others"]) -> Network:
        """The same function of other variables: the first-layer weights of new ones are 0."""
        w1 = np.zeros((len(self.w1), len(parents)))
        _, new, old = np.intersect1d(parents, self.parents, return_indices=True)
        w1[:, new] = self.w1[:, old]
        return replace(self, parents=parents, w1=w1)

    def renamed(self, parents: Int[np.ndarray, " inputs"]) -> Network:
        """The same function whose inputs have other numbers."""
        return replace(self, parents=parents)

    def values(self, x: VariableSamples) -> Float[np.ndarray, " samples"]:
        """w2 · tanh(w1 u + b1) + b2."""
        values = self.w2.astype(np.float32) @ self.units(x) + np.float32(self.b2)
        return values.astype(x.dtype, copy=False)

    def gradient(self, x: VariableSamples) -> Float[np.ndarray, "samples inputs"]:
        """Σ_h w2_h (1 − tanh²) w1_h."""
        return (self.slope(x).T @ self.w1.astype(np.float32)).astype(x.dtype)

    def jacobian(self, x: VariableSamples) -> Float[np.ndarray, "samples weights"]:
        """In the order of the weights; in single precision, as the hidden units are.

        The samples of one weight lie side by side in memory: made so it takes a tenth of the time.
        """
        u, units = x[:, self.parents].T.astype(np.float32, order="C"), self.units(x)
        slope, hidden, size = self.slope(x), len(self.b1), self.w1.size
        rows = np.empty((size + 2 * hidden + 1, len(x)), np.float32)
        np.multiply(slope[:, None], u, out=rows[:size].reshape(hidden, *u.shape))
        rows[size : size + hidden], rows[size + hidden : -1], rows[-1] = slope, units, 1.0
        return rows.T

    def growth(self, x: VariableSamples) -> Growth:
        """The new input times the slope of every hidden unit."""
        slope = self.slope(x).T
        return Growth(slope, lambda new: new[:, :, None].astype(np.float32, copy=False))

    def affine(self, scale: float, shift: float) -> Network:
        """The function scale · f + shift."""
        return replace(self, w2=self.w2 * scale, b2=self.b2 * scale + shift)

    def with_input(self, at: int, scale: float, shift: float) -> Network:
        """The function that reads scale · u + shift in place of its input number `at`."""
        w1 = self.w1.copy()
        w1[:, at] *= scale
        return replace(self, w1=w1, b1=self.b1 + self.w1[:, at] * shift)

    def units(self, x: VariableSamples) -> Float[np.ndarray, "hidden samples"]:
        """tanh(w1 u + b1), in single precision, which takes a quarter of the time.

        Those of the last samples are kept: values, slopes and Jacobian are asked for in turn.
        """
        before, units = self.__dict__.get("_last", (None, None))
        if before is x and units is not None:
            return np.asarray(units)
        u = x[:, self.parents].astype(np.float32, copy=False)
        sums = self.w1.astype(np.float32) @ u.T
        sums += self.b1.astype(np.float32)[:, None]
        units = tanh_in_place(sums)
        if len(x) <= MAX_KEPT:
            self.__dict__["_last"] = (x, units)
        return units

    def slope(self, x: VariableSamples) -> Float[np.ndarray, "hidden samples"]:
        """w2 (1 − tanh²), the slope of f along the sum of every hidden unit."""
        slope = 1 - self.units(x) ** 2
        slope *= self.w2.astype(np.float32)[:, None]
        return slope


@dataclass(frozen=True)
class NetworkFamily:
    """The family of networks with one hidden layer."""

    name: str = "mlp"
    is_affine: bool = False
    is_linear_in_weights: bool = False
    function_type: type[Network] = Network
    mechanism_type: type[MLPMechanism] = MLPMechanism

    def features(self, x: VariableSamples) -> Float[np.ndarray, "samples variables functions"]:
        """x, He₂(x), He₃(x) and three sigmoids tanh(x), tanh(2x), tanh(4x).

        >>> NETWORK.features(np.zeros((4, 3))).shape
        (4, 3, 6)
        """
        polynomials = [x, (x**2 - 1) / np.sqrt(2), (x**3 - 3 * x) / np.sqrt(6)]
        return np.stack([*polynomials, *(np.tanh(slope * x) for slope in SLOPES)], axis=2)

    def start(
        self,
        parents: Int[np.ndarray, " inputs"],
        u: Float[np.ndarray, "samples inputs"],
        y: Float[np.ndarray, " samples"],
        w: Float[np.ndarray, " samples"],
        seed: int,
        *,
        wide: bool = False,
    ) -> Network:
        """Random hidden units, and the output weights that suit them best."""
        rng = np.random.default_rng(seed)
        hidden = WIDE_HIDDEN if wide else HIDDEN
        w1 = rng.standard_normal((hidden, u.shape[1]))
        b1 = 0.1 * rng.standard_normal(hidden)
        units = tanh_in_place(u.astype(np.float64) @ w1.T + b1)
        design = np.concatenate([units, np.ones((len(u), 1))], axis=1) * w[:, None]
        gram = design.T @ design
        gram[np.diag_indices_from(gram)] += START_RIDGE * len(u)
        solution = np.linalg.solve(gram, design.T @ (y * w))
        return Network(parents, w1, b1, solution[:-1], float(solution[-1]))

    def mechanism(self, functions: Sequence[Function], n_inputs: int) -> MLPMechanism:
        """Networks padded to the widest; affine functions become nearly straight networks."""
        hidden = max((len(f.b1) for f in functions if isinstance(f, Network)), default=1)
        w1 = np.zeros((len(functions), hidden, n_inputs))
        b1, w2 = np.zeros((2, len(functions), hidden))
        b2 = np.zeros(len(functions))
        for t, function in enumerate(functions):
            if isinstance(function, Network):
                units = len(function.b1)
                w1[t][:units, function.parents] = function.w1
                b1[t, :units], w2[t, :units] = function.b1, function.w2
                b2[t] = function.b2
            elif isinstance(function, Affine):
                w1[t, 0, function.parents] = STRAIGHT * function.w
                w2[t, 0], b2[t] = 1 / STRAIGHT, function.b
            else:
                raise InvalidInputError(f"A network cannot hold a {type(function).__name__}.")
        return MLPMechanism(*(torch.tensor(part) for part in (w1, b1, w2, b2)))


NETWORK = NetworkFamily()
