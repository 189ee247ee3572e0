"""One factor and all functions of it, fitted together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ucad._types import FactorSamples, VariableSamples
from ucad.data import InterventionalData
from ucad.scm.families import Function
from ucad.solvers.regression.fitting import RIDGE, Fitter, subset
from ucad.solvers.regression.least_squares import ArrowEquations, levenberg_marquardt

__all__ = ["fit_together"]

FIRST_DAMPING = 1e-2
"""Of joint fits: a factor and its children start from separate fits, so steps are short."""

TOLERANCE = 1e-3
"""Nats per sample below which a step is the last: at 10,000 samples, ten nats, half an edge."""


class _Point(NamedTuple):
    """Residuals of all children, the precision 1/(mse_j + s₀) of each, and what they follow from.

    The functions are kept since they keep their hidden units.
    """

    residuals: Float[np.ndarray, "samples children"]
    precision: Float[np.ndarray, " children"]
    functions: list[Function]
    z: FactorSamples


def fit_together(
    data: InterventionalData,
    z: FactorSamples,
    k: int,
    functions: Sequence[Function],
    children: Int[np.ndarray, " children"],
    fitter: Fitter,
) -> tuple[Function, list[Function]]:
    """Minimises Σ_j N_j/2 · log(mse_j + s₀) over z_k = f(x) and its children x_j = g_j(z).

    In turn, f would be fitted to what the g_j say of it and the g_j to f; where some g_j is not
    monotone that takes for ever. Here a Gauss–Newton step moves all of them, the weights of one
    child being 1/(mse_j + s₀). O(N P²) a step for P weights of f and of one g_j.

    Args:
        data: the samples.
        z: all factors; those other than k stay as they are.
        k: the factor to be fitted.
        functions: f, then every g_j, to start from.
        children: the variables j.
        fitter: of the g_j: how far, and s₀.

    Returns:
        f with mean 0 and variance 1 over all samples, and every g_j.
    """
    rows = subset(np.arange(data.n_samples), fitter.effort.n_samples)
    objective = _Together(
        data.x[rows].astype(np.float32),
        z[rows].astype(np.float32),
        k,
        children,
        np.asfortranarray(~data.is_left_out[np.ix_(rows, children)], dtype=np.float32),
        tuple(functions),
        fitter.floor,
    )
    start = np.concatenate([f.weights for f in functions])
    n_steps = fitter.effort.n_steps
    flat = levenberg_marquardt(objective, start, n_steps=n_steps, damping=FIRST_DAMPING)
    fitted = objective.functions_at(flat)
    return _standardised(data.x, k, fitted[0], fitted[1:])


@dataclass(frozen=True, eq=False)
class _Together:
    x: VariableSamples
    z: FactorSamples
    k: int
    children: Int[np.ndarray, " children"]
    free: Float[np.ndarray, "samples children"]
    functions: tuple[Function, ...]
    floor: float
    per_square: float = 0.5

    def functions_at(self, weights: Float[np.ndarray, " weights"]) -> list[Function]:
        parts = np.split(weights, np.cumsum([len(f.weights) for f in self.functions])[:-1])
        return [f.with_weights(part) for f, part in zip(self.functions, parts, strict=True)]

    def at(self, weights: Float[np.ndarray, " weights"]) -> tuple[float, _Point]:
        """Nats per sample, with weight decay."""
        functions = self.functions_at(weights)
        z = self._state(functions[0])
        predicted = np.stack([g.values(z) for g in functions[1:]]).T
        residuals = (self.x[:, self.children] - predicted) * self.free
        counts = self.free.sum(axis=0)
        squares = (residuals**2).sum(axis=0, dtype=np.float64)
        errors = squares / np.maximum(counts, 1) + self.floor
        nats = float((counts * np.log(errors)).sum()) / (2 * len(residuals))
        return nats + RIDGE / 2 * float(weights @ weights), _Point(
            residuals, 1.0 / errors, functions, z
        )

    def normal_equations(
        self, weights: Float[np.ndarray, " weights"], state: _Point
    ) -> ArrowEquations:
        """Σ_j p_j J_jᵀ J_j / N and Σ_j p_j J_jᵀ e_j / N, weights of f first, then of each g_j."""
        (factor, *others), z = state.functions, state.z
        own = factor.jacobian(self.x)
        sides, blocks, slopes = [], [], []
        weight, pull = np.zeros((2, len(z)), dtype=z.dtype)
        for at, g in enumerate(others):
            share = float(state.precision[at]) / len(z)
            theirs = g.jacobian(z) * self.free[:, at, None]
            through = g.gradient(z)[:, g.parents == self.k][:, 0] * self.free[:, at]
            blocks.append(_with_decay((theirs.T @ theirs).astype(np.float64) * share))
            slopes.append((theirs.T @ state.residuals[:, at]) * share)
            theirs *= through[:, None]
            sides.append((own.T @ theirs).astype(np.float64) * share)
            weight += share * through**2
            pull += share * through * state.residuals[:, at]
        slope = np.concatenate([own.T @ pull, *slopes]) - RIDGE * weights
        own = own * np.sqrt(weight)[:, None]
        return ArrowEquations(_with_decay((own.T @ own).astype(np.float64)), sides, blocks, slope)

    def is_done(self, before: float, after: float) -> bool:
        return before - after < TOLERANCE

    def _state(self, factor: Function) -> FactorSamples:
        z = self.z.copy()
        z[:, self.k] = factor.values(self.x)
        return z


def _with_decay(gram: Float[np.ndarray, "some some"]) -> Float[np.ndarray, "some some"]:
    gram[np.diag_indices_from(gram)] += RIDGE
    return gram


def _standardised(
    x: VariableSamples, k: int, factor: Function, children: Sequence[Function]
) -> tuple[Function, list[Function]]:
    """The same model with z_k of mean 0 and variance 1."""
    values = factor.values(x)
    scale, mean = max(float(values.std()), 1e-9), float(values.mean())
    changed = [g.with_input(int(np.flatnonzero(g.parents == k)[0]), scale, mean) for g in children]
    return factor.affine(1.0 / scale, -mean / scale), changed
