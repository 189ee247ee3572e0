"""Slopes of rectified units while they are active, and the factors that these slopes name."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ucad.solvers.budget import Budget

__all__ = ["MIN_R2", "TOLERANCE", "ActiveSlopes", "active_slopes", "anchor_directions"]

MIN_ACTIVE = 3.0
"""A unit must be above 0 in this many samples per cause to be read: then its regression has twice
as many residuals as coefficients."""

MIN_R2 = 0.99
"""How linear a unit must be while it is active; exact but for rounding in a ReLU network."""

TOLERANCE = 0.005
"""Coefficients below this part of the largest of their unit are zero: the error of a slope that
leaves a hundredth of the variance, over thousands of samples."""


MAX_CHOICES = 50_000
"""Choices of m slopes that are compared, at 53 µs each (32 units, m = 3, one core): 3 s per pair of
layers. Where there are more, the directions with the fewest parallel slopes are left out."""

LSTSQ_TOLERANCE = 1e-7
"""Singular values of the causes below this share of the largest count as 0: recordings in single
precision carry seven digits."""

CONSTANT_TOLERANCE = 1e-9
"""A cause whose standard deviation is below this share of the largest counts as constant: what is
left of it is rounding."""

MISFIT_TOLERANCES = 5.0
"""A unit whose slope is further from the span of the chosen ones than so many times the tolerance
does not follow from them. A guess that was not tuned."""

TIE_WEIGHT = 1e-3
"""Weight of coefficients and misfits beside the number of edges (no unit): they decide between
choices with equally many edges, in favour of directions that lie close to the slopes."""

COST_TOLERANCE = 1e-9
"""A choice must be cheaper by more than this many edges to replace an earlier one: less is
rounding, and the earlier one has more parallel slopes."""


class ActiveSlopes(NamedTuple):
    """x_j = g_j · x_causes + c_j wherever x_j > 0.

    Attributes:
        slope: g_j, one row per effect; zero for units that could not be read.
        r2: how much of the active unit that explains.
        is_read: whether the unit was active often enough and linear there.
    """

    slope: Float[np.ndarray, "effects causes"]
    r2: Float[np.ndarray, " effects"]
    is_read: Bool[np.ndarray, " effects"]


def active_slopes(
    x: Float[np.ndarray, "samples causes"],
    y: Float[np.ndarray, "samples effects"],
    is_active: Bool[np.ndarray, "samples effects"] | None = None,
) -> ActiveSlopes:
    """Regresses every effect on all causes, over the samples in which the effect is active.

    An effect is active where it is above 0, unless `is_active` says otherwise.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 2))
    >>> y = np.maximum(0, x @ np.array([[2.0], [-1.0]]) - 0.5)
    >>> active_slopes(x, y).slope.round(6)
    array([[ 2., -1.]])
    """
    slope, r2 = np.zeros((y.shape[1], x.shape[1])), np.zeros(y.shape[1])
    is_active = y > 0 if is_active is None else is_active
    spread = x.std(axis=0)
    causes = np.flatnonzero(spread > CONSTANT_TOLERANCE * spread.max())
    for j in range(y.shape[1]):
        active = is_active[:, j]
        if active.sum() < MIN_ACTIVE * len(causes) + 2 or np.ptp(y[active, j]) == 0:
            continue
        inputs = (x[np.ix_(active, causes)] - x[active][:, causes].mean(axis=0)) / spread[causes]
        target = y[active, j] - y[active, j].mean()
        found = np.linalg.lstsq(inputs, target, rcond=LSTSQ_TOLERANCE)[0]
        slope[j, causes] = found / spread[causes]
        r2[j] = 1 - ((target - inputs @ found) ** 2).mean() / target.var()
    return ActiveSlopes(slope, r2, r2 >= MIN_R2)


def anchor_directions(
    slopes: Float[np.ndarray, "units causes"], n_factors: int, budget: Budget | None = None
) -> Float[np.ndarray, "factors causes"]:
    """Returns the m slopes with which the pair of layers has the fewest edges, of length 1.

    Edges are the causes that the chosen slopes read and the coefficients that all slopes need as
    combinations of them; a unit that does not follow costs what m + 1 coefficients do. Parallel
    slopes are one candidate, and the more there are of them, the earlier it is tried.
    """
    units = slopes / np.linalg.norm(slopes, axis=1, keepdims=True)
    candidates = _distinct(units)
    if len(candidates) <= n_factors:
        missing = n_factors - len(candidates)
        return np.concatenate([candidates, np.zeros((missing, slopes.shape[1]))])
    best, lowest = candidates[:n_factors], math.inf
    for chosen in _choices(len(candidates), n_factors):
        if budget is not None and budget.is_over:
            break
        cost = _cost(units, candidates[list(chosen)])
        if cost < lowest - COST_TOLERANCE:
            best, lowest = candidates[list(chosen)], cost
    return best


def _choices(n_candidates: int, n_factors: int) -> Iterator[tuple[int, ...]]:
    """Returns all choices among as many of the first candidates as there is time for."""
    while math.comb(n_candidates, n_factors) > MAX_CHOICES:
        n_candidates -= 1
    return itertools.combinations(range(n_candidates), n_factors)


def _distinct(
    units: Float[np.ndarray, "units causes"],
) -> Float[np.ndarray, "directions causes"]:
    """Returns one direction for every bundle of parallel slopes, the largest bundle first."""
    parallel = np.abs(units @ units.T) > 1 - TOLERANCE**2 / 2
    left, bundles = np.ones(len(units), dtype=bool), []
    while left.any():
        centre = int(np.where(left, (parallel & left).sum(axis=1), -1).argmax())
        members = parallel[centre] & left
        signs = np.sign(units[members] @ units[centre])
        mean = (signs[:, None] * units[members]).mean(axis=0)
        bundles.append(mean / np.linalg.norm(mean))
        left &= ~members
    return np.array(bundles)


def _cost(units: np.ndarray, directions: np.ndarray) -> float:
    """Counts the edges of Q and R together; nearly parallel directions are no basis."""
    if np.linalg.svd(directions, compute_uv=False)[-1] < TOLERANCE:
        return math.inf
    coefficients = units @ np.linalg.pinv(directions)
    misfit = np.linalg.norm(units - coefficients @ directions, axis=1)
    n_used = (np.abs(coefficients) > TOLERANCE).sum(axis=1)
    does_not_follow = misfit > MISFIT_TOLERANCES * TOLERANCE
    per_unit = np.where(does_not_follow, len(directions) + 1, n_used)
    n_read = (np.abs(directions) > TOLERANCE).sum()
    tie = np.abs(coefficients).sum() + misfit.sum()
    return float(per_unit.sum() + n_read + TIE_WEIGHT * tie)
