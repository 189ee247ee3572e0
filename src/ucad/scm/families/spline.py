"""Additive natural cubic splines, f(u) = b + Σ_i s_i(u_i): the family `spline`.

Each s_i is a cubic spline with linear tails, so that an intervention beyond the data is
extrapolated along a straight line. The functions cannot express products of inputs, which makes
them harder to overfit and easier to read than networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ucad._types import VariableSamples
from ucad.errors import InvalidInputError
from ucad.scm.families.affine import Affine
from ucad.scm.families.base import ALL, AffineMap, Function, Growth, Targets

__all__ = ["SPLINE", "Spline", "SplineFamily", "SplineMechanism"]

KNOTS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Knots in units of standard deviations: the middle 95 % of a normal variable, evenly divided."""

N_CURVES = len(KNOTS) - 1
"""Basis functions per input: the input itself and one curved function per inner knot."""


def _basis(t: Any, xp: Any) -> list[Any]:
    """1 linear and 3 curved natural cubic basis functions of t (numpy or torch).

    N₁ = t, N_{k+1} = d_k − d_{K−1} with d_k = ((t − ξ_k)₊³ − (t − ξ_K)₊³) / (ξ_K − ξ_k).
    """

    def cut(knot: float) -> Any:
        return xp.clip(t - knot, 0.0, None) ** 3

    last = cut(KNOTS[-1])
    d = [(cut(knot) - last) / (KNOTS[-1] - knot) for knot in KNOTS[:-1]]
    return [t, *(part - d[-1] for part in d[:-1])]


def _slopes(t: Any, xp: Any) -> list[Any]:
    """The derivatives of the basis functions at t."""

    def cut(knot: float) -> Any:
        return 3 * xp.clip(t - knot, 0.0, None) ** 2

    last = cut(KNOTS[-1])
    d = [(cut(knot) - last) / (KNOTS[-1] - knot) for knot in KNOTS[:-1]]
    return [xp.ones_like(t), *(part - d[-1] for part in d[:-1])]


@dataclass(frozen=True, eq=False)
class SplineMechanism:
    """F_t(v) = b_t + Σ_i w_ti · N((v_i − centre_ti) / width_ti).

    Attributes:
        weight: targets × inputs × basis functions; zero where the graph has no edge.
        centre: targets × inputs, where the middle knot lies.
        width: targets × inputs, the distance of neighbouring knots.
        bias: one per target.
    """

    weight: Float[Tensor, "targets inputs basis"]
    centre: Float[Tensor, "targets inputs"]
    width: Float[Tensor, "targets inputs"]
    bias: Float[Tensor, " targets"]

    @property
    def is_affine(self) -> bool:
        """False."""
        return False

    def __call__(
        self, inputs: Float[Tensor, "samples inputs"], targets: Targets = ALL
    ) -> Float[Tensor, "samples some_targets"]:
        """O(samples · edges · basis), one target at a time."""
        weight, centre, width, bias = (getattr(self, f.name)[targets] for f in fields(self))
        columns = []
        for w, c, s, b in zip(weight, centre, width, bias, strict=True):
            used = (w != 0).any(dim=1)
            basis = torch.stack(_basis((inputs[:, used] - c[used]) / s[used], torch), dim=2)
            columns.append((basis * w[used]).sum(dim=(1, 2)) + b)
        return torch.stack(columns, dim=1) if columns else inputs.new_zeros(len(inputs), 0)

    def lipschitz(self) -> Float[Tensor, " targets"]:
        """√Σ_i max |s_i′|²; s_i′ is quadratic between knots, constant beyond: its peaks are known.

        The largest slope is at a knot or where s_i″, linear between knots, vanishes.
        """
        return self._steepest().norm(dim=1)

    def uses(self) -> Float[Tensor, "targets inputs"]:
        """Max |s_i′| of every input."""
        return self._steepest()

    def after(self, outer: AffineMap) -> SplineMechanism:
        """Scale · F(v) + shift."""
        weight = outer.scale[:, None, None] * self.weight
        return replace(self, weight=weight, bias=outer.scale * self.bias + outer.shift)

    def before(self, inner: AffineMap) -> SplineMechanism:
        """F(scale · v + shift): the knots move."""
        centre = (self.centre - inner.shift) / inner.scale
        return replace(self, centre=centre, width=self.width / inner.scale)

    def _steepest(self) -> Float[Tensor, "targets inputs"]:
        at = torch.tensor(KNOTS, dtype=self.weight.dtype)
        second = torch.tensor([_curvature(knot) for knot in KNOTS], dtype=self.weight.dtype)
        bend = torch.einsum("kb,tib->tik", second, self.weight[:, :, 1:])
        low, high = bend[:, :, :-1], bend[:, :, 1:]
        share = torch.where(low * high < 0, low / (low - high), torch.zeros_like(low))
        places = torch.cat([at.expand(*bend.shape), at[:-1] + share * (at[1:] - at[:-1])], dim=2)
        slopes = torch.stack(_slopes(places, torch), dim=3)
        steep = (slopes * self.weight[:, :, None, :]).sum(dim=3).abs().amax(dim=2)
        return steep / self.width.abs()


def _curvature(t: float) -> list[float]:
    """The second derivatives of the curved basis functions at t."""
    d = [6 * max(t - knot, 0.0) / (KNOTS[-1] - knot) for knot in KNOTS[:-1]]
    return [part - d[-1] for part in d[:-1]]


@dataclass(frozen=True, eq=False)
class Spline:
    """f(u) = b + Σ_i w_i · N((u_i − centre_i) / width_i).

    Attributes:
        parents: the variables u it looks at.
        w: one row of weights per parent.
        centre: where the middle knot of every parent lies.
        width: the distance of neighbouring knots of every parent.
        b: the constant.
    """

    parents: Int[np.ndarray, " inputs"]
    w: Float[np.ndarray, "inputs basis"]
    centre: Float[np.ndarray, " inputs"]
    width: Float[np.ndarray, " inputs"]
    b: float

    @cached_property
    def weights(self) -> Float[np.ndarray, " weights"]:
        """(w, b)."""
        return np.append(self.w.ravel(), self.b)

    def with_weights(self, weights: Float[np.ndarray, " weights"]) -> Spline:
        """The same function with other weights."""
        return replace(self, w=weights[:-1].reshape(self.w.shape), b=float(weights[-1]))

    def with_parents(self, parents: Int[np.ndarray, " others"]) -> Spline:
        """The same function of other variables: new ones have weight 0 and the usual knots."""
        fresh = _straight(parents)
        _, new, old = np.intersect1d(parents, self.parents, return_indices=True)
        fresh.w[new], fresh.centre[new] = self.w[old], self.centre[old]
        fresh.width[new] = self.width[old]
        return replace(fresh, b=self.b)

    def renamed(self, parents: Int[np.ndarray, " inputs"]) -> Spline:
        """The same function whose inputs have other numbers."""
        return replace(self, parents=parents)

    def values(self, x: VariableSamples) -> Float[np.ndarray, " samples"]:
        """B + Σ_i s_i(u_i)."""
        values = self._columns(x, _basis).reshape(len(x), -1) @ self.w.ravel() + self.b
        return values.astype(x.dtype, copy=False)

    def gradient(self, x: VariableSamples) -> Float[np.ndarray, "samples inputs"]:
        """s_i′(u_i)."""
        slopes = (self._columns(x, _slopes) * self.w).sum(axis=2) / self.width
        return slopes.astype(x.dtype, copy=False)

    def jacobian(self, x: VariableSamples) -> Float[np.ndarray, "samples weights"]:
        """The basis functions of all inputs, and 1."""
        columns = self._columns(x, _basis).reshape(len(x), -1)
        return np.concatenate([columns, np.ones((len(x), 1))], axis=1)

    def growth(self, x: VariableSamples) -> Growth:
        """The basis functions of the new input."""
        one = np.ones((len(x), 1), dtype=x.dtype)
        return Growth(one, lambda new: np.stack(_basis(new, np), axis=2))

    def affine(self, scale: float, shift: float) -> Spline:
        """The function scale · f + shift."""
        return replace(self, w=self.w * scale, b=self.b * scale + shift)

    def with_input(self, at: int, scale: float, shift: float) -> Spline:
        """The function that reads scale · u + shift in place of its input number `at`."""
        centre, width = self.centre.copy(), self.width.copy()
        centre[at], width[at] = (centre[at] - shift) / scale, width[at] / scale
        return replace(self, centre=centre, width=width)

    def _columns(self, x: VariableSamples, of: Any) -> Float[np.ndarray, "samples inputs basis"]:
        t = (x[:, self.parents].astype(np.float64) - self.centre) / self.width
        return np.stack(of(t, np), axis=2)


def _straight(parents: Int[np.ndarray, " inputs"]) -> Spline:
    size = len(parents)
    return Spline(parents, np.zeros((size, N_CURVES)), np.zeros(size), np.ones(size), 0.0)


@dataclass(frozen=True)
class SplineFamily:
    """The family of additive natural cubic splines."""

    name: str = "spline"
    is_affine: bool = False
    is_linear_in_weights: bool = True
    function_type: type[Spline] = Spline
    mechanism_type: type[SplineMechanism] = SplineMechanism

    def features(self, x: VariableSamples) -> Float[np.ndarray, "samples variables functions"]:
        """The basis functions of every variable."""
        return np.stack(_basis(x, np), axis=2)

    def start(
        self,
        parents: Int[np.ndarray, " inputs"],
        u: Float[np.ndarray, "samples inputs"],  # noqa: ARG002
        y: Float[np.ndarray, " samples"],  # noqa: ARG002
        w: Float[np.ndarray, " samples"],  # noqa: ARG002
        seed: int,  # noqa: ARG002
        *,
        wide: bool = False,  # noqa: ARG002
    ) -> Spline:
        """Zero: the fit has a closed form."""
        return _straight(parents)

    def mechanism(self, functions: Sequence[Function], n_inputs: int) -> SplineMechanism:
        """One target per function; an affine function has weights on the linear basis alone."""
        n = len(functions)
        weight, bias = np.zeros((n, n_inputs, N_CURVES)), np.zeros(n)
        centre, width = np.zeros((n, n_inputs)), np.ones((n, n_inputs))
        for t, function in enumerate(functions):
            at = function.parents
            if isinstance(function, Spline):
                weight[t, at], bias[t] = function.w, function.b
                centre[t, at], width[t, at] = function.centre, function.width
            elif isinstance(function, Affine):
                weight[t, at, 0], bias[t] = function.w, function.b
            else:
                raise InvalidInputError(f"Splines cannot hold a {type(function).__name__}.")
        return SplineMechanism(*(torch.tensor(part) for part in (weight, centre, width, bias)))


SPLINE = SplineFamily()
