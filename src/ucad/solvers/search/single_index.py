"""Linear factors of nonlinear variables: directions in gradients, and x_j = g(a·x) fitted whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ucad.data import InterventionalData
from ucad.scm.families import Affine, Function
from ucad.solvers.regression.fitting import Fitter, Regression, unit_variance
from ucad.solvers.regression.joint import fit_together

__all__ = [
    "NEGLIGIBLE",
    "SingleIndex",
    "fit_along",
    "fit_single_index",
    "leading_direction",
    "sparse_directions",
]

ALIKE = 0.95
"""Cosine above which two directions count as one."""

NEGLIGIBLE = 0.05
"""A weight below this share of the largest counts as none: gradients carry noise of some 2 %."""

N_SPARSE = 3
"""Directions proposed of a plane: a variable of two factors has two right ones."""

MAX_GROWTH = 6
"""Rounds of adding parents; each adds all that promise at least half of the best."""


def leading_direction(
    gradient: Float[np.ndarray, "samples inputs"], parents: Int[np.ndarray, " inputs"]
) -> Affine:
    """The linear function along which a function with this gradient changes most."""
    _, vectors = np.linalg.eigh((gradient.T @ gradient / len(gradient)).astype(np.float64))
    return Affine(parents, vectors[:, -1], 0.0)


def sparse_directions(
    span: Float[np.ndarray, "inputs dimensions"],
) -> Iterator[Float[np.ndarray, " inputs"]]:
    """The leading direction and, in a plane, the sparsest of those that vanish on an input."""
    yield span[:, 0]
    if span.shape[1] < 2:
        return
    directions = np.stack([span[:, 0] * row[1] - span[:, 1] * row[0] for row in span])
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-12)
    size = np.abs(directions)
    zeros = (size < NEGLIGIBLE * size.max(axis=1, keepdims=True)).sum(axis=1)
    seen: list[Float[np.ndarray, " inputs"]] = []
    for direction in directions[np.argsort(-zeros, kind="stable")]:
        if all(abs(direction @ old) < ALIKE for old in seen):
            seen.append(direction)
            yield direction
        if len(seen) == N_SPARSE:
            return


@dataclass(frozen=True, eq=False)
class SingleIndex:
    """A factor z = a·x of unit variance, the function g of it that x_j is, and what is left."""

    factor: Function
    function: Function
    error: float


def fit_single_index(
    data: InterventionalData,
    j: int,
    start: Affine,
    allowed: Int[np.ndarray, " candidates"],
    fitter: Fitter,
) -> Function:
    """Fits a and g of x_j = g(a·x), adds parents that a score test finds, drops useless ones.

    As a function of all variables x_j has a weight for each of them in every hidden unit, and
    weak parents do not pay for theirs; in a·x each has one.

    Args:
        data: the samples.
        j: the variable.
        start: a·x to start from.
        allowed: the variables that may be parents.
        fitter: of g.
    """
    free = ~data.is_left_out[:, j]
    regression = Regression(data.x[:, j], free.astype(np.float64))
    best = fit_along(data, j, unit_variance(start, data.x), regression, fitter)
    for _ in range(MAX_GROWTH):
        gains = _score_test(data, best, regression, allowed)
        most = gains.max(initial=0.0)
        if most <= fitter.penalty:
            break
        new = allowed[gains > max(most / 2, fitter.penalty)]
        wider = best.factor.with_parents(np.union1d(best.factor.parents, new))
        trial = fit_along(data, j, wider, regression, fitter)
        if fitter.nats(regression, best.error, trial.error) < fitter.penalty:
            break
        best = trial
    return _narrowed(data, j, best, regression, fitter).factor


def fit_along(
    data: InterventionalData,
    j: int,
    start: Function,
    regression: Regression,
    fitter: Fitter,
    like: Function | None = None,
) -> SingleIndex:
    """Fits a and g of x_j = g(a·x) with the parents of a start, and g from a function like it."""
    z = start.values(data.x)[:, None]
    g = fitter.fit(z, np.array([0]), regression, like)
    factor, (g,) = fit_together(data, z, 0, [start, g], np.array([j]), fitter)
    return SingleIndex(factor, g, regression.error(g, factor.values(data.x)[:, None]))


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
    data: InterventionalData, j: int, best: SingleIndex, regression: Regression, fitter: Fitter
) -> SingleIndex:
    """Without the parents of least weight, one by one, as long as that costs less than an edge."""
    while len(best.factor.parents) > 1:
        spread = data.x[:, best.factor.parents].std(axis=0)
        weakest = int(np.argmin(np.abs(best.factor.weights[:-1]) * spread))
        fewer = best.factor.with_parents(np.delete(best.factor.parents, weakest))
        trial = fit_along(data, j, fewer, regression, fitter, best.function)
        if fitter.nats(regression, trial.error, best.error) > fitter.penalty:
            break
        best = trial
    return best
