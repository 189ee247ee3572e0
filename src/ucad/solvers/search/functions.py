"""Functions of a few variables, linear or one hidden layer, fitted by least squares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int

from ucad._types import VariableSamples

__all__ = [
    "NOTHING",
    "Function",
    "FunctionConfig",
    "Regression",
    "distinct",
    "fit_function",
    "refit_if_stuck",
    "tanh",
    "unit_variance",
]


FIRST_DAMPING = 1e-3
LEAST_DAMPING = 1e-7
SAME = 0.999
N_STARTS = 2
WIDER = 3
EXACT, NOISY = 0.1, 20.0


@dataclass(frozen=True, kw_only=True)
class FunctionConfig:
    """How a function is fitted.

    Attributes:
        hidden: units of the hidden layer; 0 means affine functions.
        n_steps: Levenberg–Marquardt steps at most.
        tolerance: a step that lowers the error by less than this share of it is the last.
        n_samples: samples used at most; a regular subset is taken of more.
        ridge: weight decay, relative to a target of variance 1.
        floor: s₀, the error below which nothing is worth explaining.
        penalty: nats that a parent must be worth.
        seed: of the random start.
    """

    hidden: int = 16
    n_steps: int = 40
    tolerance: float = 1e-3
    n_samples: int = 3000
    ridge: float = 1e-6
    floor: float = 1e-3
    penalty: float = 20.0
    seed: int = 0


class Regression(NamedTuple):
    """What a function should be, and how much each sample counts."""

    target: Float[np.ndarray, " samples"]
    weights: Float[np.ndarray, " samples"]


class _Weights(NamedTuple):
    """w2 · tanh(w1 u + b1) + b2."""

    w1: Float[np.ndarray, "hidden inputs"]
    b1: Float[np.ndarray, " hidden"]
    w2: Float[np.ndarray, " hidden"]
    b2: Float[np.ndarray, " one"]


@dataclass(frozen=True, eq=False)
class Function:
    r"""A function of some of the variables: f(x) = w2 · tanh(w1 u + b1) + b2, or w2 · u + b2.

    Attributes:
        parents: the variables u it looks at.
        w1: weights of the hidden layer; None for an affine function.
        b1: biases of the hidden layer; None for an affine function.
        w2: weights of the output.
        b2: bias of the output.
    """

    parents: Int[np.ndarray, " inputs"]
    w1: Float[np.ndarray, "hidden inputs"] | None
    b1: Float[np.ndarray, " hidden"] | None
    w2: Float[np.ndarray, " weights"]
    b2: float

    @property
    def n_weights(self) -> int:
        """How many numbers are fitted."""
        hidden = 0 if self.w1 is None else self.w1.size + len(self.w1)
        return hidden + len(self.w2) + 1

    def values(self, x: VariableSamples) -> Float[np.ndarray, " samples"]:
        """f(x) at every sample."""
        if self.w1 is None:
            affine: Float[np.ndarray, " samples"] = x[:, self.parents] @ self.w2 + self.b2
            return affine
        values = self.units(x) @ self.w2.astype(np.float32) + np.float32(self.b2)
        return values.astype(x.dtype, copy=False)

    def gradient(self, x: VariableSamples) -> Float[np.ndarray, "samples inputs"]:
        """∂f/∂u at every sample."""
        if self.w1 is None:
            return np.broadcast_to(self.w2, (len(x), len(self.w2)))
        slope = (1 - self.units(x) ** 2) * self.w2.astype(np.float32)
        return (slope @ self.w1.astype(np.float32)).astype(x.dtype, copy=False)

    def units(self, x: VariableSamples) -> Float[np.ndarray, "samples hidden"]:
        """tanh(w1 u + b1), in single precision, which takes a quarter of the time."""
        assert self.w1 is not None
        assert self.b1 is not None
        u = x[:, self.parents].astype(np.float32)
        return tanh(u @ self.w1.T.astype(np.float32) + self.b1.astype(np.float32))

    def affine(self, scale: float, shift: float) -> Function:
        """The function scale · f + shift."""
        return replace(self, w2=self.w2 * scale, b2=self.b2 * scale + shift)


NOTHING = Function(np.array([], dtype=np.int64), None, None, np.zeros(0), 0.0)
"""The function of no variable: a factor whose place is free."""


def tanh(
    values: Float[np.ndarray, "samples hidden"],
) -> Float[np.ndarray, "samples hidden"]:
    """The hyperbolic tangent, in place: torch takes half the time of numpy, and most of a fit."""
    return torch.from_numpy(values).tanh_().numpy()


def unit_variance(function: Function, x: VariableSamples) -> Function:
    """Rescales a function to mean 0 and variance 1; a constant one is only centred."""
    values = function.values(x)
    scale = values.std()
    scale = 1.0 / scale if scale > 1e-9 else 1.0
    return function.affine(scale, -scale * float(values.mean()))


def distinct(functions: Iterable[Function], x: VariableSamples) -> list[Function]:
    """Leaves out a function that has the parents and, all but exactly, the values of another."""
    kept: dict[tuple[int, ...], list[tuple[Function, Float[np.ndarray, " samples"]]]] = {}
    for function in functions:
        values = function.values(x)
        values = (values - values.mean()) / max(
            float(np.linalg.norm(values - values.mean())), 1e-12
        )
        same = kept.setdefault(tuple(function.parents.tolist()), [])
        if all(abs(float(values @ other)) < SAME for _, other in same):
            same.append((function, values))
    return [function for same in kept.values() for function, _ in same]


def fit_function(
    x: VariableSamples,
    parents: Int[np.ndarray, " inputs"],
    regression: Regression,
    config: FunctionConfig,
    *,
    start: Function | None = None,
) -> Function:
    """Minimises Σ_s weight_s (target_s − f(x_s))², from a given function if there is one.

    Affine functions in closed form; others by Levenberg–Marquardt, whose step costs O(N P²) for P
    weights: some thirty steps do what many thousand of a first-order method do.
    """
    target, weights = regression
    rows = np.flatnonzero(weights > 0)
    if config.hidden and len(rows) > config.n_samples:
        rows = rows[np.linspace(0, len(rows) - 1, config.n_samples).astype(np.int64)]
    u, y = x[np.ix_(rows, parents)], target[rows]
    w = np.sqrt(weights[rows] / weights[rows].mean())
    if not config.hidden or not len(parents):
        return _fit_affine(u, y, w, parents)
    if start is not None and start.w1 is not None and start.b1 is not None:
        init = _restart(start, parents)
    else:
        init = _random_start(u, y, w, config)
    u, y, w = u.astype(np.float32), y.astype(np.float32), w.astype(np.float32)
    w1, b1, w2, b2 = _levenberg_marquardt(init, u, y, w, config)
    return Function(parents, w1, b1, w2, float(b2[0]))


def refit_if_stuck(
    x: VariableSamples, function: Function, regression: Regression, config: FunctionConfig
) -> Function:
    """The function from other starts, with more hidden units, if it is stuck short of exactness.

    A network fitted to the values of one of its own size can end at an error of 1e-3 instead of
    1e-6; one half as wide again hardly ever does. Beside noise that is nothing; without noise it
    costs thousands of nats, and a wrong graph may win by them. So it is tried where between a
    tenth of s₀ and ten s₀ are left.
    """
    if function.w1 is None or len(function.parents) < 2:
        return function

    def error(one: Function) -> float:
        square = (regression.target - one.values(x)) ** 2
        return float(np.average(square, weights=regression.weights)) / config.floor

    best, left = function, error(function)
    wide = replace(config, hidden=WIDER * config.hidden // 2)
    for start in range(1, N_STARTS + 1):
        if not EXACT < left < NOISY:
            break
        again = replace(wide, seed=config.seed + start)
        trial = fit_function(x, function.parents, regression, again)
        best, left = min((best, left), (trial, error(trial)), key=lambda pair: pair[1])
    return best


def _fit_affine(
    u: Float[np.ndarray, "samples inputs"],
    y: Float[np.ndarray, " samples"],
    w: Float[np.ndarray, " samples"],
    parents: Int[np.ndarray, " inputs"],
) -> Function:
    design = np.concatenate([u, np.ones((len(u), 1))], axis=1) * w[:, None]
    solution = np.linalg.lstsq(design, y * w, rcond=None)[0]
    return Function(parents, None, None, solution[:-1], float(solution[-1]))


def _restart(start: Function, parents: Int[np.ndarray, " inputs"]) -> _Weights:
    """The weights of a fitted function, with zeros for parents it did not have."""
    assert start.w1 is not None
    assert start.b1 is not None
    w1 = np.zeros((len(start.w1), len(parents)))
    _, new, old = np.intersect1d(parents, start.parents, return_indices=True)
    w1[:, new] = start.w1[:, old]
    return _Weights(w1, start.b1, start.w2, np.array([start.b2]))


def _random_start(
    u: Float[np.ndarray, "samples inputs"],
    y: Float[np.ndarray, " samples"],
    w: Float[np.ndarray, " samples"],
    config: FunctionConfig,
) -> _Weights:
    """Random hidden units, and the output weights that suit them best."""
    rng = np.random.default_rng(config.seed)
    w1 = rng.standard_normal((config.hidden, u.shape[1]))
    b1 = 0.1 * rng.standard_normal(config.hidden)
    design = np.concatenate([tanh(u @ w1.T + b1), np.ones((len(u), 1))], axis=1) * w[:, None]
    gram = design.T @ design
    gram[np.diag_indices_from(gram)] += 1e-2 * len(u)
    solution = np.linalg.solve(gram, design.T @ (y * w))
    return _Weights(w1, b1, solution[:-1], solution[-1:])


def _levenberg_marquardt(
    start: _Weights,
    u: Float[np.ndarray, "samples inputs"],
    y: Float[np.ndarray, " samples"],
    w: Float[np.ndarray, " samples"],
    config: FunctionConfig,
) -> _Weights:
    """Damped Gauss–Newton; the damping falls after a step that helps and rises after one not.

    Samples are in single precision, which takes half the time; weights and solutions are not.
    """
    at, damping = start, FIRST_DAMPING
    flat = np.concatenate([part.ravel() for part in at])
    hidden, residual = _residual(at, u, y, w)
    loss = _loss(residual, flat, config)
    for _ in range(config.n_steps):
        jacobian = _jacobian(at, hidden, u, w)
        gram = (jacobian.T @ jacobian).astype(np.float64) / len(u)
        slope = (jacobian.T @ residual).astype(np.float64) / len(u) - config.ridge * flat
        before = loss
        while damping < 1e6:
            damped = gram.copy()
            damped[np.diag_indices_from(damped)] += damping + config.ridge
            trial_flat = flat + np.linalg.solve(damped, slope)
            trial = _unflatten(trial_flat, at)
            trial_hidden, trial_residual = _residual(trial, u, y, w)
            trial_loss = _loss(trial_residual, trial_flat, config)
            if trial_loss < loss:
                at, flat, loss = trial, trial_flat, trial_loss
                hidden, residual = trial_hidden, trial_residual
                damping = max(damping / 3, LEAST_DAMPING)
                break
            damping *= 4
        if before - loss < config.tolerance * (loss + config.floor / 10):
            break
    return at


def _residual(
    at: _Weights,
    u: Float[np.ndarray, "samples inputs"],
    y: Float[np.ndarray, " samples"],
    w: Float[np.ndarray, " samples"],
) -> tuple[Float[np.ndarray, "samples hidden"], Float[np.ndarray, " samples"]]:
    w1, b1, w2, b2 = (part.astype(u.dtype) for part in at)
    hidden = tanh(u @ w1.T + b1)
    return hidden, w * (y - hidden @ w2 - b2)


def _jacobian(
    at: _Weights,
    hidden: Float[np.ndarray, "samples hidden"],
    u: Float[np.ndarray, "samples inputs"],
    w: Float[np.ndarray, " samples"],
) -> Float[np.ndarray, "samples weights"]:
    slope = (1 - hidden**2) * at.w2.astype(u.dtype) * w[:, None]
    by_input = (slope[:, :, None] * u[:, None, :]).reshape(len(u), -1)
    return np.concatenate([by_input, slope, hidden * w[:, None], w[:, None]], axis=1)


def _loss(
    residual: Float[np.ndarray, " samples"],
    flat: Float[np.ndarray, " weights"],
    config: FunctionConfig,
) -> float:
    return float(residual @ residual / len(residual) + config.ridge * flat @ flat)


def _unflatten(flat: Float[np.ndarray, " weights"], like: _Weights) -> _Weights:
    sizes = np.cumsum([part.size for part in like])[:-1]
    parts = np.split(flat, sizes)
    return _Weights(*(part.reshape(old.shape) for part, old in zip(parts, like, strict=True)))
