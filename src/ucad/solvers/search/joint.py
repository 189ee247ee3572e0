"""One factor and all functions of it, fitted together by Levenberg–Marquardt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import FactorSamples, VariableSamples
from ucad.data import InterventionalData
from ucad.solvers.search.functions import Function, FunctionConfig

__all__ = ["fit_together"]

LARGEST_DAMPING = 1e6
FIRST_DAMPING = 1e-2
TOLERANCE = 1e-3


def fit_together(
    data: InterventionalData,
    z: FactorSamples,
    k: int,
    factor: Function,
    children: Sequence[tuple[int, Function]],
    config: FunctionConfig,
) -> tuple[Function, list[Function]]:
    """Minimises Σ_j N_j/2 · log(mse_j + s₀) over z_k = f(x) and its children x_j = g_j(z).

    In turn, f would be fitted to what the g_j say of it and the g_j to f; where some g_j is not
    monotone that takes for ever. Here a Gauss–Newton step moves all of them, the weights of one
    child being 1/(mse_j + s₀). O(N P²) a step for P weights of f and the g_j together.

    Args:
        data: the samples.
        z: all factors; those other than k stay as they are.
        k: the factor to be fitted.
        factor: f to start from.
        children: the variables j with k among their factors, and g_j to start from.
        config: the settings.

    Returns:
        f with mean 0 and variance 1 over all samples, and every g_j.
    """
    rows = np.arange(data.n_samples)
    if len(rows) > config.n_samples:
        rows = np.linspace(0, len(rows) - 1, config.n_samples).astype(np.int64)
    its = np.array([j for j, _ in children])
    x, state = data.x[rows].astype(np.float32), z[rows].astype(np.float32)
    problem = _Problem(x, state, k, its, ~data.is_intervened[np.ix_(rows, its)])
    functions = [factor, *(g for _, g in children)]
    fitted = _levenberg_marquardt(problem, functions, config)
    return _standardised(data.x, k, fitted[0], fitted[1:])


@dataclass(frozen=True, eq=False)
class _Problem:
    x: VariableSamples
    z: FactorSamples
    k: int
    children: Int[np.ndarray, " children"]
    free: Bool[np.ndarray, "samples children"]

    def state(self, factor: Function) -> FactorSamples:
        z = self.z.copy()
        z[:, self.k] = factor.values(self.x)
        return z

    def residuals(self, functions: Sequence[Function]) -> Float[np.ndarray, "samples children"]:
        """What is left of every child; 0 where it is clamped."""
        z = self.state(functions[0])
        predicted = np.stack([g.values(z) for g in functions[1:]], axis=1)
        return np.where(self.free, self.x[:, self.children] - predicted, 0.0)

    def normal_equations(
        self,
        functions: Sequence[Function],
        residuals: Float[np.ndarray, "samples children"],
        precision: list[float],
    ) -> tuple[Float[np.ndarray, "weights weights"], Float[np.ndarray, " weights"]]:
        """Σ_j p_j J_jᵀ J_j / N and Σ_j p_j J_jᵀ e_j / N, weights of f first, then of each g_j."""
        z = self.state(functions[0])
        own, _ = _jacobian(functions[0], self.x)
        sizes = [own.shape[1], *(g.n_weights for g in functions[1:])]
        ends = np.cumsum(sizes)
        gram, slope = np.zeros((ends[-1], ends[-1])), np.zeros(ends[-1])
        first = slice(0, sizes[0])
        weight, pull = np.zeros((2, len(z)), dtype=z.dtype)
        for at, g in enumerate(functions[1:]):
            some = slice(ends[at], ends[at + 1])
            theirs, gradient = _jacobian(g, z)
            theirs = theirs * self.free[:, at, None]
            through = gradient[:, g.parents == self.k][:, 0] * self.free[:, at]
            gram[some, some] = precision[at] * (theirs.T @ theirs)
            gram[first, some] = precision[at] * (own.T @ (theirs * through[:, None]))
            gram[some, first] = gram[first, some].T
            slope[some] = precision[at] * (theirs.T @ residuals[:, at])
            weight += precision[at] * through**2
            pull += precision[at] * through * residuals[:, at]
        gram[first, first] = (own * weight[:, None]).T @ own
        slope[first] = own.T @ pull
        return gram / len(z), slope / len(z)


def _jacobian(
    function: Function, x: VariableSamples
) -> tuple[Float[np.ndarray, "samples weights"], Float[np.ndarray, "samples inputs"]]:
    """∂f/∂(w1, b1, w2, b2) at every sample, in that order, and ∂f/∂u."""
    u = x[:, function.parents]
    one = np.ones((len(x), 1), dtype=x.dtype)
    if function.w1 is None:
        return np.concatenate([u, one], axis=1), function.gradient(x)
    hidden = function.units(x)
    slope = (1 - hidden**2) * function.w2
    by_input = (slope[:, :, None] * u[:, None, :]).reshape(len(u), -1)
    return np.concatenate([by_input, slope, hidden, one], axis=1), slope @ function.w1


def _levenberg_marquardt(
    problem: _Problem, start: list[Function], config: FunctionConfig
) -> list[Function]:
    """Samples and functions of them are in single precision; weights and solutions are not."""
    damping = FIRST_DAMPING
    flat = np.concatenate([_flat(f) for f in start])
    functions = _unflatten(flat.astype(np.float32), start)
    residuals = problem.residuals(functions)
    loss, precision = _loss(problem, residuals, flat, config)
    for _ in range(config.n_steps):
        gram, slope = problem.normal_equations(functions, residuals, precision)
        slope -= config.ridge * flat
        before = loss
        while damping < LARGEST_DAMPING:
            damped = gram.copy()
            damped[np.diag_indices_from(damped)] += damping + config.ridge
            trial_flat = flat + np.linalg.solve(damped, slope)
            trial = _unflatten(trial_flat.astype(np.float32), start)
            trial_residuals = problem.residuals(trial)
            trial_loss, trial_precision = _loss(problem, trial_residuals, trial_flat, config)
            if trial_loss < loss:
                functions, flat, residuals = trial, trial_flat, trial_residuals
                loss, precision, damping = trial_loss, trial_precision, max(damping / 3, 1e-8)
                break
            damping *= 4
        if before - loss < TOLERANCE:
            break
    return _unflatten(flat, start)


def _loss(
    problem: _Problem,
    residuals: Float[np.ndarray, "samples children"],
    flat: Float[np.ndarray, " weights"],
    config: FunctionConfig,
) -> tuple[float, list[float]]:
    """Nats per sample, with weight decay, and the precision of every child."""
    counts = problem.free.sum(axis=0)
    squares = (residuals**2).sum(axis=0, dtype=np.float64)
    errors = squares / np.maximum(counts, 1) + config.floor
    nats = float((counts * np.log(errors)).sum() / len(residuals))
    return nats / 2 + config.ridge / 2 * float(flat @ flat), (1.0 / errors).tolist()


def _standardised(
    x: VariableSamples, k: int, factor: Function, children: Sequence[Function]
) -> tuple[Function, list[Function]]:
    """The same model with z_k of mean 0 and variance 1."""
    values = factor.values(x)
    scale, mean = max(float(values.std()), 1e-9), float(values.mean())
    changed = []
    for g in children:
        column = int(np.flatnonzero(g.parents == k)[0])
        if g.w1 is None or g.b1 is None:
            w2 = g.w2.copy()
            w2[column] *= scale
            changed.append(replace(g, w2=w2, b2=float(g.b2 + g.w2[column] * mean)))
            continue
        w1 = g.w1.copy()
        w1[:, column] *= scale
        changed.append(replace(g, w1=w1, b1=g.b1 + g.w1[:, column] * mean))
    return factor.affine(1.0 / scale, -mean / scale), changed


def _flat(function: Function) -> Float[np.ndarray, " weights"]:
    parts = [] if function.w1 is None else [function.w1.ravel(), function.b1]
    return np.concatenate([*parts, function.w2, [function.b2]])


def _unflatten(flat: Float[np.ndarray, " weights"], like: Sequence[Function]) -> list[Function]:
    functions, at = [], 0
    for old in like:
        part = flat[at : at + old.n_weights]
        at += len(part)
        changed = replace(old, w2=part[-1 - len(old.w2) : -1], b2=float(part[-1]))
        if old.w1 is not None:
            size = old.w1.size
            w1 = part[:size].reshape(old.w1.shape)
            changed = replace(changed, w1=w1, b1=part[size : size + len(old.w1)])
        functions.append(changed)
    return functions
