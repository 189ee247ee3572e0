"""Functions of a few variables, linear or one hidden layer, fitted by least squares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ucad._types import VariableSamples, WhichIntervened

__all__ = [
    "Function",
    "FunctionConfig",
    "Regression",
    "distinct",
    "fit_function",
    "fit_sparse_function",
    "interventional_gains",
    "permutation_price",
    "unit_variance",
]


TOLERANCE = 1e-3
SAME = 0.999
MAX_GROWTH = 4
N_LEADING = 2
FEW_ROWS = 50
WINSOR = 2.5


@dataclass(frozen=True, kw_only=True)
class FunctionConfig:
    """How a function is fitted.

    Attributes:
        hidden: units of the hidden layer; 0 means affine functions.
        n_steps: Levenberg–Marquardt steps at most.
        n_samples: samples used at most; a regular subset is taken of more.
        ridge: weight decay, relative to a target of variance 1.
        floor: s₀, the error below which nothing is worth explaining.
        penalty: nats that a parent must be worth.
        seed: of the random start.
    """

    hidden: int = 16
    n_steps: int = 25
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

    def values(self, x: VariableSamples) -> Float[np.ndarray, " samples"]:
        """f(x) at every sample."""
        u = x[:, self.parents]
        if self.w1 is not None:
            u = np.tanh(u @ self.w1.T + self.b1)
        out: Float[np.ndarray, " samples"] = u @ self.w2 + self.b2
        return out

    def gradient(self, x: VariableSamples) -> Float[np.ndarray, "samples inputs"]:
        """∂f/∂u at every sample."""
        if self.w1 is None:
            return np.broadcast_to(self.w2, (len(x), len(self.w2)))
        hidden = np.tanh(x[:, self.parents] @ self.w1.T + self.b1)
        slope: Float[np.ndarray, "samples inputs"] = ((1 - hidden**2) * self.w2) @ self.w1
        return slope

    def affine(self, scale: float, shift: float) -> Function:
        """The function scale · f + shift."""
        return replace(self, w2=self.w2 * scale, b2=self.b2 * scale + shift)


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
    w1, b1, w2, b2 = _levenberg_marquardt(init, u, y, w, config)
    return Function(parents, w1, b1, w2, float(b2[0]))


def fit_sparse_function(
    x: VariableSamples,
    parents: Int[np.ndarray, " inputs"],
    regression: Regression,
    allowed: Int[np.ndarray, " candidates"],
    config: FunctionConfig,
    *,
    start: Function | None = None,
) -> Function:
    """Fits a function, adds parents that a score test finds missing, drops those of no use.

    Additive screening overlooks a parent that only acts through another. The score test does not:
    it asks whether the residual has a slope in the first-layer weights the parent would have.
    """
    fitted = fit_function(x, parents, regression, config, start=start)
    if not config.hidden:
        return fitted
    enough = config.penalty + config.hidden / 2
    for _ in range(MAX_GROWTH):
        gains = _score_test(x, fitted, regression, allowed, config.floor)
        best = gains.max(initial=0.0)
        if best <= enough:
            break
        wider = np.union1d(fitted.parents, allowed[gains > max(best / 2, enough)])
        fitted = fit_function(x, wider, regression, config, start=fitted)
    price = permutation_price(x, fitted, regression, config.floor)
    useful = price >= config.penalty
    if useful.any() and not useful.all():
        fitted = fit_function(x, fitted.parents[useful], regression, config, start=fitted)
    return fitted


def _score_test(
    x: VariableSamples,
    function: Function,
    regression: Regression,
    allowed: Int[np.ndarray, " candidates"],
    floor: float,
) -> Float[np.ndarray, " candidates"]:
    """Nats that each variable would gain to first order as a further parent."""
    assert function.w1 is not None
    hidden = np.tanh(x[:, function.parents] @ function.w1.T + function.b1)
    slope = (1 - hidden**2) * function.w2
    residual = regression.target - function.values(x)
    w = regression.weights / regression.weights.mean()
    total = float((w * residual**2).sum()) + floor * len(x)
    units = slope.shape[1]
    b = (slope * (w * residual)[:, None]).T @ x[:, allowed]
    pairs = (slope[:, :, None] * slope[:, None, :] * w[:, None, None]).reshape(len(x), -1)
    gram = ((x[:, allowed] ** 2).T @ pairs).reshape(len(allowed), units, units)
    size = np.trace(gram, axis1=1, axis2=2)[:, None, None] / units
    gram = gram + 1e-6 * size * np.eye(units)
    explained = np.einsum("hi,ihg,gi->i", b, np.linalg.inv(gram), b)
    share = np.clip(explained / total, 0.0, 1 - 1e-9)
    share[np.isin(allowed, function.parents)] = 0.0
    count = float((regression.weights > 0).sum())
    gains: Float[np.ndarray, " candidates"] = -count / 2 * np.log1p(-share)
    return gains


def interventional_gains(
    x: VariableSamples,
    function: Function,
    regression: Regression,
    is_intervened: WhichIntervened,
) -> Float[np.ndarray, " variables"]:
    """The score test of every variable, over the samples that clamp it alone.

    A sibling of the target predicts it, but not where the sibling is set from outside; a parent
    does, even one that only acts through another: to first order, by its product with the slopes
    of the hidden units, to second order by that of its square with the units themselves. Both are
    reduced to their leading directions, each at a price of two nats.
    """
    gains = np.zeros(x.shape[1])
    if function.w1 is None:
        return gains
    residual = regression.target - function.values(x)
    hidden = np.tanh(x[:, function.parents] @ function.w1.T + function.b1)
    slope = (1 - hidden**2) * function.w2
    slopes, units = _leading(slope), _leading(hidden)
    for i in np.setdiff1d(np.arange(x.shape[1]), function.parents):
        rows = is_intervened[:, i] & (regression.weights > 0)
        if rows.sum() < FEW_ROWS:
            continue
        own = x[rows, i][:, None]
        design = np.hstack([slopes[rows] * own, units[rows] * (own**2 - 1), np.ones_like(own)])
        y = residual[rows] - residual[rows].mean()
        y = np.clip(y, -WINSOR * y.std(), WINSOR * y.std())
        left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        nats = rows.sum() / 2 * np.log(max(y @ y, 1e-12) / max(left @ left, 1e-12))
        gains[i] = nats - 4 * N_LEADING
    return gains


def _leading(columns: Float[np.ndarray, "samples columns"]) -> Float[np.ndarray, "samples few"]:
    """The few leading principal directions of some columns."""
    _, directions = np.linalg.eigh(columns.T @ columns)
    few: Float[np.ndarray, "samples few"] = columns @ directions[:, -N_LEADING:]
    return few


def permutation_price(
    x: VariableSamples, function: Function, regression: Regression, floor: float
) -> Float[np.ndarray, " inputs"]:
    """Nats lost, at most, if a parent is taken away: its values are those of another sample."""
    rows = np.flatnonzero(regression.weights > 0)
    w = regression.weights[rows]
    here = x[rows]
    values = function.values(here)
    error = np.average((regression.target[rows] - values) ** 2, weights=w)
    lost = np.zeros(len(function.parents))
    for at, parent in enumerate(function.parents):
        other = here.copy()
        other[:, parent] = np.roll(here[:, parent], len(rows) // 2 + 1)
        lost[at] = np.average((function.values(other) - values) ** 2, weights=w) / 2
    price: Float[np.ndarray, " inputs"] = len(rows) / 2 * np.log1p(lost / (error + floor))
    return price


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
    design = np.concatenate([np.tanh(u @ w1.T + b1), np.ones((len(u), 1))], axis=1) * w[:, None]
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
    """Damped Gauss–Newton; the damping falls after a step that helps and rises after one not."""
    at, damping = start, 1e-2
    flat = np.concatenate([part.ravel() for part in at])
    hidden, residual = _residual(at, u, y, w)
    loss = _loss(residual, flat, config)
    for _ in range(config.n_steps):
        jacobian = _jacobian(at, hidden, u, w)
        gram = jacobian.T @ jacobian / len(u)
        slope = jacobian.T @ residual / len(u) - config.ridge * flat
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
                hidden, residual, damping = trial_hidden, trial_residual, max(damping / 3, 1e-8)
                break
            damping *= 4
        if before - loss < TOLERANCE * (loss + config.floor / 10):
            break
    return at


def _residual(
    at: _Weights,
    u: Float[np.ndarray, "samples inputs"],
    y: Float[np.ndarray, " samples"],
    w: Float[np.ndarray, " samples"],
) -> tuple[Float[np.ndarray, "samples hidden"], Float[np.ndarray, " samples"]]:
    hidden = np.tanh(u @ at.w1.T + at.b1)
    return hidden, w * (y - hidden @ at.w2 - at.b2)


def _jacobian(
    at: _Weights,
    hidden: Float[np.ndarray, "samples hidden"],
    u: Float[np.ndarray, "samples inputs"],
    w: Float[np.ndarray, " samples"],
) -> Float[np.ndarray, "samples weights"]:
    slope = (1 - hidden**2) * at.w2 * w[:, None]
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
