"""Which variables a function should look at: score tests for new parents, prices of old ones."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from ucad._types import VariableSamples, WhichIntervened
from ucad.data import InterventionalData
from ucad.solvers.search.functions import (
    Function,
    FunctionConfig,
    Regression,
    fit_function,
)

__all__ = ["causal_odds", "fit_sparse_function", "interventional_gains", "permutation_price"]

MAX_GROWTH = 8
N_LEADING = 2
FEW_ROWS = 50
WINSOR = 2.5
ENOUGH_ODDS = 3.0


def fit_sparse_function(
    data: InterventionalData,
    parents: Int[np.ndarray, " inputs"],
    regression: Regression,
    allowed: Int[np.ndarray, " candidates"],
    config: FunctionConfig,
    *,
    start: Function | None = None,
) -> Function:
    """Fits a function, adds parents that a score test finds missing, drops those of no use.

    Additive screening overlooks a parent that only acts through another. The score test does not:
    it asks whether the residual has a slope in the first-layer weights the parent would have. A
    sibling of the target passes it too, but predicts nothing where it is clamped, and goes.
    """
    x = data.x
    fitted = fit_function(x, parents, regression, config, start=start)
    if not config.hidden:
        return fitted
    enough = config.penalty + config.hidden / 2
    for _ in range(MAX_GROWTH):
        fitted, allowed = _without_siblings(data, fitted, regression, allowed, config)
        gains = _score_test(x, fitted, regression, allowed, config.floor)
        best = gains.max(initial=0.0)
        if best <= enough:
            break
        wider = np.union1d(fitted.parents, allowed[gains > max(best / 2, enough)])
        fitted = fit_function(x, wider, regression, config, start=fitted)
    fitted, _ = _without_siblings(data, fitted, regression, allowed, config)
    price = permutation_price(x, fitted, regression, config.floor)
    useful = price >= config.penalty
    if useful.any() and not useful.all():
        fitted = fit_function(x, fitted.parents[useful], regression, config, start=fitted)
    return fitted


def _without_siblings(
    data: InterventionalData,
    function: Function,
    regression: Regression,
    allowed: Int[np.ndarray, " candidates"],
    config: FunctionConfig,
) -> tuple[Function, Int[np.ndarray, " others"]]:
    """The function of those parents that are causes, and the others taken off what is allowed."""
    is_cause = ~(causal_odds(data, function, regression) < -ENOUGH_ODDS)
    if is_cause.all() or not is_cause.any():
        return function, allowed
    allowed = np.setdiff1d(allowed, function.parents[~is_cause])
    causes = function.parents[is_cause]
    return fit_function(data.x, causes, regression, config, start=function), allowed


def causal_odds(
    data: InterventionalData, function: Function, regression: Regression
) -> Float[np.ndarray, " inputs"]:
    """Log odds that a parent causes the target rather than that both have a cause in common.

    Where x_i is set from outside, let m be the change of f if x_i is that of another sample, and r
    the residual. If i is a cause, r has nothing to do with m and ρ = 1 − 2 Σ r m / Σ m² is 1 on
    average; if it is not, what f makes of x_i is all in r, and ρ is 0. The variance of ρ is
    4 σ² / Σ m². Parents that are seldom clamped get 0.
    """
    odds = np.zeros(len(function.parents))
    for at, i in enumerate(function.parents):
        rows = np.flatnonzero(data.is_intervened[:, i] & (regression.weights > 0))
        if len(rows) < FEW_ROWS:
            continue
        here, w = data.x[rows], regression.weights[rows] / regression.weights[rows].mean()
        other = here.copy()
        other[:, i] = np.roll(here[:, i], len(rows) // 2)
        values = function.values(here)
        moved, residual = function.values(other) - values, regression.target[rows] - values
        residual = residual - np.average(residual, weights=w)
        square = float((w * moved**2).sum())
        noise = float((w * residual**2).mean())
        share = 1 - 2 * float((w * residual * moved).sum()) / max(square, 1e-12)
        odds[at] = (share - 0.5) * square / (4 * max(noise, 1e-12))
    return odds


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
    hidden = function.units(x).astype(np.float64)
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


def _score_test(
    x: VariableSamples,
    function: Function,
    regression: Regression,
    allowed: Int[np.ndarray, " candidates"],
    floor: float,
) -> Float[np.ndarray, " candidates"]:
    """Nats that each variable would gain to first order as a further parent."""
    slope = (1 - function.units(x) ** 2) * function.w2.astype(np.float32)
    residual = regression.target - function.values(x)
    w = regression.weights / regression.weights.mean()
    total = float((w * residual**2).sum()) + floor * len(x)
    units, others = slope.shape[1], x[:, allowed].astype(np.float32)
    b = (slope * (w * residual)[:, None]).T @ others
    weighted = slope * w[:, None].astype(np.float32)
    pairs = (weighted[:, :, None] * slope[:, None, :]).reshape(len(x), -1)
    gram = ((others**2).T @ pairs).astype(np.float64).reshape(len(allowed), units, units)
    size = np.trace(gram, axis1=1, axis2=2)[:, None, None] / units
    gram = gram + 1e-6 * size * np.eye(units)
    explained = np.einsum("hi,ihg,gi->i", b, np.linalg.inv(gram), b)
    share = np.clip(explained / total, 0.0, 1 - 1e-9)
    share[np.isin(allowed, function.parents)] = 0.0
    count = float((regression.weights > 0).sum())
    gains: Float[np.ndarray, " candidates"] = -count / 2 * np.log1p(-share)
    return gains


def _leading(columns: Float[np.ndarray, "samples columns"]) -> Float[np.ndarray, "samples few"]:
    """The few leading principal directions of some columns."""
    _, directions = np.linalg.eigh(columns.T @ columns)
    few: Float[np.ndarray, "samples few"] = columns @ directions[:, -N_LEADING:]
    return few
