"""Which variables a function should look at: score tests for new parents, prices of old ones."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import eigh

from ucad._types import VariableSamples, WhichIntervened
from ucad.data import InterventionalData
from ucad.scm.families import Family, Function
from ucad.scm.families.base import Growth
from ucad.solvers.regression.fitting import Fitter, Regression, subset
from ucad.solvers.regression.jacobian_products import upper_products

__all__ = [
    "causal_odds",
    "fit_with_selection",
    "interventional_gains",
    "permutation_price",
    "score_test",
]

MAX_GROWTH = 8
"""Rounds of adding parents; each adds all that promise at least half of the best."""

N_LEADING = 2
"""Directions to which a test inside one variable's regimes is reduced: it has few samples."""

MIN_ROWS = 50
"""Samples in which a variable must be acted on before they decide whether it is a cause."""

WINSOR = 2.5
"""Standard deviations at which residuals are cut in a test, so that no single sample decides."""

MIN_ODDS = 3.0
"""Nats by which 'both have a common cause' must be likelier before a parent is dropped."""

RIDGE_SHARE = 1e-6
"""Of the trace of a test's Gram matrix, added to its diagonal: its columns may be collinear."""

SAMPLES_AT_ONCE = 8192
"""Samples whose columns are multiplied at a time: sums of so many in single precision keep six
digits."""


PRICED = 4000
"""Samples by which parents are priced: more than a rough fit uses, and a price is known to some 5 %
then."""


def fit_with_selection(
    data: InterventionalData,
    parents: Int[np.ndarray, " inputs"],
    regression: Regression,
    allowed: Int[np.ndarray, " candidates"],
    fitter: Fitter,
    start: Function | None = None,
) -> Function:
    """Fits a function, adds parents that a score test finds missing, drops those of no use.

    Additive screening overlooks a parent that only acts through another. The score test does not:
    it asks whether the residual has a slope in the weights the parent would have. A sibling of the
    target passes it too, but predicts nothing where it is clamped, and goes.
    """
    x = data.x
    fitted = fitter.fit(x, parents, regression, start)
    if fitter.family.is_affine:
        return fitted
    brief, grown = fitter.briefly, False
    for _ in range(MAX_GROWTH):
        fitted, allowed = _without_siblings(data, fitted, regression, allowed, brief)
        gains = score_test(x, fitted, regression, allowed, fitter)
        best = gains.max(initial=0.0)
        if best <= fitter.penalty:
            break
        wider = np.union1d(fitted.parents, allowed[gains > max(best / 2, fitter.penalty)])
        fitted, grown = brief.fit(x, wider, regression, fitted), True
    if grown:
        fitted = fitter.fit(x, fitted.parents, regression, fitted)
    fitted, _ = _without_siblings(data, fitted, regression, allowed, fitter)
    useful = permutation_price(x, fitted, regression, fitter.floor) >= fitter.penalty
    if useful.any() and not useful.all():
        fitted = fitter.fit(x, fitted.parents[useful], regression, fitted)
    return fitted


def _without_siblings(
    data: InterventionalData,
    function: Function,
    regression: Regression,
    allowed: Int[np.ndarray, " candidates"],
    fitter: Fitter,
) -> tuple[Function, Int[np.ndarray, " others"]]:
    """The function of those parents that are causes, and the others taken off what is allowed."""
    is_cause = ~(causal_odds(data, function, regression) < -MIN_ODDS)
    if is_cause.all() or not is_cause.any():
        return function, allowed
    allowed = np.setdiff1d(allowed, function.parents[~is_cause])
    return fitter.fit(data.x, function.parents[is_cause], regression, function), allowed


def causal_odds(
    data: InterventionalData, function: Function, regression: Regression
) -> Float[np.ndarray, " inputs"]:
    """Log odds that a parent causes the target rather than that both have a cause in common.

    Where x_i is set from outside, let m be the change of f if x_i is that of another sample, and r
    the residual. If i is a cause, r has nothing to do with m and ρ = 1 − 2 Σ r m / Σ m² is 1 on
    average; if it is not, what f makes of x_i is all in r, and ρ is 0. The variance of ρ is
    4 σ² / Σ m². Parents that are seldom clamped, or clamped at one value, get 0.
    """
    odds, is_set = np.zeros(len(function.parents)), data.is_set
    for at, i in enumerate(function.parents):
        rows = np.flatnonzero(is_set[:, i] & (regression.weights > 0))
        if len(rows) < MIN_ROWS:
            continue
        local, here = _own_columns(data.x, function, rows)
        w = regression.weights[rows] / regression.weights[rows].mean()
        other = here.copy()
        other[:, at] = np.roll(here[:, at], len(rows) // 2)
        values = local.values(here)
        moved, residual = local.values(other) - values, regression.target[rows] - values
        residual = residual - np.average(residual, weights=w)
        square = float((w * moved**2).sum())
        noise = float((w * residual**2).mean())
        share = 1 - 2 * float((w * residual * moved).sum()) / max(square, 1e-12)
        odds[at] = (share - 0.5) * square / (4 * max(noise, 1e-12))
    return odds


def _own_columns(
    x: VariableSamples, function: Function, rows: Int[np.ndarray, " rows"]
) -> tuple[Function, Float[np.ndarray, "rows inputs"]]:
    """The function of its own columns alone, and those columns in some samples."""
    return function.renamed(np.arange(len(function.parents))), x[:, function.parents][rows]


def permutation_price(
    x: VariableSamples, function: Function, regression: Regression, floor: float
) -> Float[np.ndarray, " inputs"]:
    """The maximum number of nats lost if a parent is taken away.

    Its values become those of another sample, which adds twice what the best function of the
    other parents would lose. Of more than `PRICED` samples a regular subset stands for all.
    """
    rows = subset(np.flatnonzero(regression.weights > 0), PRICED)
    w = regression.weights[rows]
    local, here = _own_columns(x, function, rows)
    values = local.values(here)
    error = np.average((regression.target[rows] - values) ** 2, weights=w)
    lost = np.zeros(len(function.parents))
    for at in range(len(lost)):
        other = here.copy()
        other[:, at] = np.roll(here[:, at], len(rows) // 2 + 1)
        lost[at] = np.average((local.values(other) - values) ** 2, weights=w) / 2
    half = regression.n_samples / 2
    price: Float[np.ndarray, " inputs"] = half * np.log1p(lost / (error + floor))
    return price


def score_test(
    x: VariableSamples,
    function: Function,
    regression: Regression,
    allowed: Int[np.ndarray, " candidates"],
    fitter: Fitter,
) -> Float[np.ndarray, " candidates"]:
    """Nats that each variable would gain to first order as a further parent, less ½ per weight.

    With C_i the columns of the weights that variable i would have and e the residual, what it
    explains is eᵀC_i (C_iᵀC_i)⁻¹ C_iᵀe; the products of all variables are made in one pass.
    """
    gains, new = np.zeros(len(allowed)), ~np.isin(allowed, function.parents)
    if not new.any():
        return gains
    gram, cross, total = _products_of_columns(x, function, regression, allowed[new])
    size, n_samples = cross.shape[1], regression.n_samples
    trace = np.trace(gram, axis1=1, axis2=2)
    gram[:, np.arange(size), np.arange(size)] += (RIDGE_SHARE * trace / size + 1e-300)[:, None]
    explained = (cross * np.linalg.solve(gram, cross[:, :, None])[:, :, 0]).sum(axis=1)
    share = np.minimum(explained / (total + fitter.floor * n_samples), 1 - 1e-9)
    gains[new] = -n_samples / 2 * np.log1p(-share) - size / 2
    return gains


def _products_of_columns(
    x: VariableSamples,
    function: Function,
    regression: Regression,
    new: Int[np.ndarray, " new"],
) -> tuple[Float[np.ndarray, "new size size"], Float[np.ndarray, "new size"], float]:
    """C_iᵀC_i and C_iᵀe of some variables, and eᵀe, weighted: sums over blocks of samples.

    A column is slope_a(x) φ_b(x_i), so that C_iᵀC_i is made of Σ_s slope_a slope_a' · φ_b φ_b'.
    """
    local, mean = function.renamed(np.arange(len(function.parents))), regression.mean_weight
    gram: Float[np.ndarray, "basis slopes new"] = np.zeros((1, 1, 1))
    cross, total = gram, 0.0
    for start in range(0, len(x), SAMPLES_AT_ONCE):
        block = slice(start, start + SAMPLES_AT_ONCE)
        u, weight = x[block, function.parents], regression.weights[block] / mean
        residual = regression.target[block] - local.values(u)
        total += float(weight @ residual**2)
        slope, basis = local.growth(u)
        rows, weight = slope.T, weight.astype(slope.dtype)
        phi = basis(x.T[new, block].T).transpose(2, 1, 0).astype(slope.dtype, copy=False)
        pulled = (rows * (weight * residual)).astype(slope.dtype)
        pairs = upper_products(rows) * weight
        gram = gram + np.array([pairs @ both.T for both in upper_products(phi)])
        cross = cross + np.array([pulled @ one.T for one in phi])
    flat = cross.transpose(2, 1, 0).reshape(len(new), -1)
    return _from_upper(gram, *cross.shape[:2]), flat, total


def _from_upper(
    gram: Float[np.ndarray, "basis slopes new"], n_basis: int, n_slopes: int
) -> Float[np.ndarray, "new size size"]:
    """The whole matrices of which every pair of slopes and every pair of functions is there once.

    Swapping either pair alone changes nothing: slope_a slope_a' φ_b φ_b' is a product.
    """
    full = np.empty((gram.shape[2], n_slopes, n_basis, n_slopes, n_basis))
    first, second = np.triu_indices(n_slopes)
    for b, c, both in zip(*np.triu_indices(n_basis), gram, strict=True):
        for one, other in ((first, second), (second, first)):
            full[:, one, b, other, c] = full[:, one, c, other, b] = both.T
    size = n_slopes * n_basis
    return full.reshape(len(full), size, size)


def interventional_gains(
    x: VariableSamples,
    function: Function,
    regression: Regression,
    is_intervened: WhichIntervened,
    family: Family,
    allowed: Int[np.ndarray, " candidates"],
) -> Float[np.ndarray, " variables"]:
    """The score test of every allowed variable, over the samples that clamp it; 0 of the others.

    A sibling of the target predicts it, but not where the sibling is set from outside; a parent
    does, even one that only acts through another: to first order by the weights it would have, to
    second order by products of its square with functions of the others. Both are reduced to their
    leading directions, each at a price of two nats.
    """
    gains = np.zeros(x.shape[1])
    residual = regression.target - function.values(x)
    others = family.features(x[:, function.parents]).reshape(len(x), -1)
    slope, basis = function.growth(x)
    for i in np.setdiff1d(allowed, function.parents):
        rows = np.flatnonzero(is_intervened[:, i] & (regression.weights > 0))
        if len(rows) < MIN_ROWS or np.ptp(x[rows, i]) == 0:
            continue
        own = x[rows, i]
        second = others[rows] * (own**2 - 1)[:, None]
        first = Growth(slope[rows], basis)(own)
        design = np.hstack([_leading(first), _leading(second)])
        y = residual[rows] - residual[rows].mean()
        y = np.clip(y, -WINSOR * y.std(), WINSOR * y.std())
        design = design - design.mean(axis=0)
        share = _explained(design, y) / max(float(y @ y), 1e-12)
        nats = -len(rows) / 2 * np.log1p(-min(share, 1 - 1e-9))
        gains[i] = nats - 2 * design.shape[1]
    return gains


def _explained(
    columns: Float[np.ndarray, "samples columns"], y: Float[np.ndarray, " samples"]
) -> float:
    """The sum of squares of y that some columns explain."""
    gram, cross = (columns.T @ columns).astype(np.float64), (columns.T @ y).astype(np.float64)
    gram[np.diag_indices_from(gram)] += RIDGE_SHARE * np.trace(gram) / len(gram) + 1e-300
    return float(cross @ np.linalg.solve(gram, cross))


def _leading(columns: Float[np.ndarray, "samples columns"]) -> Float[np.ndarray, "samples few"]:
    """The few leading principal directions C v of some columns C.

    Where there are fewer samples than columns they come of C Cᵀ = U Λ Uᵀ, as U √Λ.
    """
    if len(columns) < columns.shape[1]:
        values, units = _largest(columns @ columns.T)
        return np.asarray(units * np.sqrt(np.maximum(values, 0.0)))
    few: Float[np.ndarray, "samples few"] = columns @ _largest(columns.T @ columns)[1]
    return few


def _largest(
    gram: Float[np.ndarray, "size size"],
) -> tuple[Float[np.ndarray, " few"], Float[np.ndarray, "size few"]]:
    """The few largest eigenvalues, and their vectors: all of them take three times as long."""
    size = len(gram)
    few = (max(size - N_LEADING, 0), size - 1)
    values, vectors = eigh(gram.astype(np.float64), subset_by_index=few, check_finite=False)
    return np.asarray(values), np.asarray(vectors)
