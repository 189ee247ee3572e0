"""A variable as a function of one linear factor, x_j = g(a·x)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ucad.data import InterventionalData
from ucad.solvers.search.functions import (
    Function,
    FunctionConfig,
    Regression,
    fit_function,
    unit_variance,
)
from ucad.solvers.search.joint import fit_together

__all__ = ["SingleIndex", "fit_single_index"]

MAX_GROWTH = 6


@dataclass(frozen=True, eq=False)
class SingleIndex:
    """A factor and the function of it that a variable is.

    Attributes:
        factor: z = a·x, of unit variance.
        function: g.
        error: the mean squared residual of x_j = g(z).
    """

    factor: Function
    function: Function
    error: float


def fit_single_index(
    data: InterventionalData,
    j: int,
    start: Function,
    allowed: Int[np.ndarray, " candidates"],
    config: FunctionConfig,
) -> SingleIndex:
    """Fits a and g together, adds parents that a score test finds missing, drops useless ones.

    As a function of all variables x_j has a weight for each of them in every hidden unit, and
    weak parents do not pay for theirs; in a·x each has one.

    Args:
        data: the samples.
        j: the variable.
        start: a·x to start from.
        allowed: the variables that may be parents.
        config: the settings of g.
    """
    free = ~data.is_intervened[:, j]
    regression = Regression(data.x[:, j], free.astype(np.float64))
    best = _fit(data, j, unit_variance(start, data.x), regression, config)
    for _ in range(MAX_GROWTH):
        gains = _score_test(data, best, regression, allowed)
        most = gains.max(initial=0.0)
        if most <= config.penalty:
            break
        new = allowed[gains > max(most / 2, config.penalty)]
        wider = _with_parents(best.factor, np.union1d(best.factor.parents, new))
        trial = _fit(data, j, wider, regression, config)
        if _nats(trial, best, regression, config) < config.penalty:
            break
        best = trial
    return _narrowed(data, j, best, regression, config)


def _fit(
    data: InterventionalData,
    j: int,
    start: Function,
    regression: Regression,
    config: FunctionConfig,
) -> SingleIndex:
    z = start.values(data.x)[:, None]
    g = fit_function(z, np.array([0]), regression, config)
    factor, (g,) = fit_together(data, z, 0, start, [(j, g)], config)
    left = regression.target - g.values(factor.values(data.x)[:, None])
    return SingleIndex(factor, g, float(np.average(left**2, weights=regression.weights)))


def _score_test(
    data: InterventionalData,
    found: SingleIndex,
    regression: Regression,
    allowed: Int[np.ndarray, " candidates"],
) -> Float[np.ndarray, " candidates"]:
    """Nats that each variable would gain to first order as a parent: residual and g'(z) x_i."""
    rows = np.flatnonzero(regression.weights > 0)
    x = data.x[rows]
    z = found.factor.values(x)[:, None]
    slope = found.function.gradient(z)
    residual = regression.target[rows] - found.function.values(z)
    known = slope * np.column_stack([x[:, found.factor.parents], np.ones(len(x))])
    basis, _ = np.linalg.qr(known)
    others = slope * x[:, allowed]
    others = others - basis @ (basis.T @ others)
    residual = residual - basis @ (basis.T @ residual)
    size = np.maximum((others**2).sum(axis=0), 1e-12)
    share = (others.T @ residual) ** 2 / size / max(float(residual @ residual), 1e-12)
    share[np.isin(allowed, found.factor.parents)] = 0.0
    gains: Float[np.ndarray, " candidates"] = (
        -len(rows) / 2 * np.log1p(-np.minimum(share, 1 - 1e-9))
    )
    return gains


def _narrowed(
    data: InterventionalData,
    j: int,
    best: SingleIndex,
    regression: Regression,
    config: FunctionConfig,
) -> SingleIndex:
    """Without the parents of least weight, one by one, as long as that costs less than an edge."""
    while len(best.factor.parents) > 1:
        spread = data.x[:, best.factor.parents].std(axis=0)
        weakest = int(np.argmin(np.abs(best.factor.w2) * spread))
        fewer = _with_parents(best.factor, np.delete(best.factor.parents, weakest))
        trial = _fit(data, j, fewer, regression, config)
        if _nats(best, trial, regression, config) > config.penalty:
            break
        best = trial
    return best


def _with_parents(factor: Function, parents: Int[np.ndarray, " inputs"]) -> Function:
    """The same linear function of other variables; new ones have no weight yet."""
    weights = dict(zip(factor.parents.tolist(), factor.w2.tolist(), strict=True))
    w2 = np.array([weights.get(int(i), 0.0) for i in parents])
    return Function(parents, None, None, w2, factor.b2)


def _nats(
    new: SingleIndex, old: SingleIndex, regression: Regression, config: FunctionConfig
) -> float:
    count = int((regression.weights > 0).sum())
    return float(count / 2 * np.log((old.error + config.floor) / (new.error + config.floor)))
