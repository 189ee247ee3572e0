"""The rectified solver: exact factors of ReLU layers, from what they do while they are active."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ucad._types import Progress, ProgressEvent
from ucad.data import InterventionalData
from ucad.solvers.gaps import Gap, GapModel, assemble, gaps_of, held_out_nll, usable_rows
from ucad.solvers.status import FitResult, FitStatus

__all__ = ["ActiveSlopes", "RectifiedConfig", "active_slopes", "anchor_directions", "fit_rectified"]


@dataclass(frozen=True, kw_only=True)
class RectifiedConfig:
    """The settings of the rectified solver.

    Attributes:
        factors_per_gap: how many factors lie in each gap; as many in each if None.
        least_active: a unit must be above 0 in this many samples per cause to be read.
        least_r2: how linear a unit must be while it is active.
        tolerance: coefficients below this part of the largest of their unit are zero.
        knots: tanh units that rebuild the hinge of each unit.
    """

    factors_per_gap: tuple[int, ...] | None = None
    least_active: float = 3.0
    least_r2: float = 0.99
    tolerance: float = 0.005
    knots: int = 32


class ActiveSlopes(NamedTuple):
    """x_j = g_j · x_causes + c_j wherever x_j > 0.

    Attributes:
        slope: g_j, one row an effect; zero for units that could not be read.
        r2: how much of the active unit that explains.
        is_read: whether the unit was active often enough and linear there.
    """

    slope: Float[np.ndarray, "effects causes"]
    r2: Float[np.ndarray, " effects"]
    is_read: Bool[np.ndarray, " effects"]


def fit_rectified(
    data: InterventionalData,
    n_factors: int,
    *,
    config: RectifiedConfig | None = None,
    validation: InterventionalData | None = None,
    progress: Progress | None = None,
) -> FitResult:
    """Finds z = W x_l and x_{l+1} = max(0, R z + c) in every gap, R with out-anchors.

    A rectified unit is affine in the layer before it wherever it is above 0, with slope R_j W. So
    the slopes of all units have rank m, and those of units with a single parent (out-anchors) are
    rows of W up to scale: W is read off m of the slopes, those with which the gap has the fewest
    edges. This is exact, needs no training and no labels, and says so when the
    slopes do not have rank m, as in a dense network.

    O(samples · causes²) for each unit, and at most 50,000 choices of m slopes.

    Args:
        data: samples of layered variables, standardised or not, rectified in their own units.
        n_factors: of all gaps together.
        config: the settings.
        validation: held-out samples in the same units; the data themselves if None.
        progress: told after every gap.
    """
    started, config = time.perf_counter(), config or RectifiedConfig()
    gaps = gaps_of(data, n_factors, config.factors_per_gap)
    measured = data.unstandardised()
    models, history = [], []
    for number, gap in enumerate(gaps):
        model, row = _fit_gap(measured, gap, config)
        models.append(model)
        history.append({"gap": number, **row})
        if progress is not None:
            progress(ProgressEvent("Gaps", number + 1, len(gaps)))
    scm = assemble(measured, gaps, models)
    if data.scaling is not None:
        scm = scm.in_standard_units(data.scaling)
    return FitResult(
        scm,
        _status(history, config),
        held_out_nll(scm, data, validation),
        tuple(history),
        time.perf_counter() - started,
    )


def active_slopes(
    x: Float[np.ndarray, "samples causes"],
    y: Float[np.ndarray, "samples effects"],
    *,
    least_active: float = 3.0,
    least_r2: float = 0.99,
) -> ActiveSlopes:
    """Regresses every effect on all causes, over the samples in which the effect is above 0.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 2))
    >>> y = np.maximum(0, x @ np.array([[2.0], [-1.0]]) - 0.5)
    >>> active_slopes(x, y).slope.round(6)
    array([[ 2., -1.]])
    """
    slope, r2 = np.zeros((y.shape[1], x.shape[1])), np.zeros(y.shape[1])
    spread = x.std(axis=0)
    causes = np.flatnonzero(spread > 1e-9 * max(spread.max(), 1e-300))
    for j in range(y.shape[1]):
        active = y[:, j] > 0
        if active.sum() < least_active * len(causes) + 2 or np.ptp(y[active, j]) == 0:
            continue
        inputs = (x[np.ix_(active, causes)] - x[active][:, causes].mean(axis=0)) / spread[causes]
        target = y[active, j] - y[active, j].mean()
        found = np.linalg.lstsq(inputs, target, rcond=1e-7)[0]
        slope[j, causes] = found / spread[causes]
        r2[j] = 1 - ((target - inputs @ found) ** 2).mean() / target.var()
    return ActiveSlopes(slope, r2, r2 >= least_r2)


def anchor_directions(
    slopes: Float[np.ndarray, "units causes"], n_factors: int, *, tolerance: float = 0.005
) -> Float[np.ndarray, "factors causes"]:
    """The m slopes with which the gap has the fewest edges, scaled to length 1.

    Edges are the causes that the chosen slopes read and the coefficients that all slopes need as
    combinations of them; a unit that does not follow costs what m + 1 coefficients do. Parallel
    slopes are one candidate, and the more there are of them, the earlier it is tried.
    """
    units = slopes / np.linalg.norm(slopes, axis=1, keepdims=True)
    candidates = _distinct(units, tolerance)
    if len(candidates) <= n_factors:
        missing = n_factors - len(candidates)
        return np.concatenate([candidates, np.zeros((missing, slopes.shape[1]))])
    best, lowest = candidates[:n_factors], math.inf
    for chosen in _choices(len(candidates), n_factors):
        cost = _cost(units, candidates[list(chosen)], tolerance)
        if cost < lowest - 1e-9:
            best, lowest = candidates[list(chosen)], cost
    return best


_MOST_CHOICES = 50_000


def _choices(n_candidates: int, n_factors: int) -> Iterator[tuple[int, ...]]:
    """All choices among as many of the first candidates as can be gone through."""
    while math.comb(n_candidates, n_factors) > _MOST_CHOICES:
        n_candidates -= 1
    return itertools.combinations(range(n_candidates), n_factors)


def _distinct(units: Float[np.ndarray, "units causes"], tolerance: float) -> np.ndarray:
    """One direction for every bundle of parallel slopes, the largest bundle first."""
    parallel = np.abs(units @ units.T) > 1 - tolerance**2 / 2
    left, bundles = np.ones(len(units), dtype=bool), []
    while left.any():
        centre = int(np.where(left, (parallel & left).sum(axis=1), -1).argmax())
        members = parallel[centre] & left
        signs = np.sign(units[members] @ units[centre])
        mean = (signs[:, None] * units[members]).mean(axis=0)
        bundles.append(mean / np.linalg.norm(mean))
        left &= ~members
    return np.array(bundles)


def _cost(units: np.ndarray, directions: np.ndarray, tolerance: float) -> float:
    """The edges of the gap, of Q and of R together; near-parallel directions are no basis."""
    if np.linalg.svd(directions, compute_uv=False)[-1] < tolerance:
        return math.inf
    coefficients = units @ np.linalg.pinv(directions)
    misfit = np.linalg.norm(units - coefficients @ directions, axis=1)
    n_used = (np.abs(coefficients) > tolerance).sum(axis=1)
    per_unit = np.where(misfit > 5 * tolerance, len(directions) + 1, n_used)
    n_read = (np.abs(directions) > tolerance).sum()
    # the sum of sizes breaks ties in favour of the directions that lie closest to the slopes
    return float(per_unit.sum() + n_read + 1e-3 * (np.abs(coefficients).sum() + misfit.sum()))


def _fit_gap(
    data: InterventionalData, gap: Gap, config: RectifiedConfig
) -> tuple[GapModel, dict[str, float | int | str]]:
    rows = usable_rows(data, gap)
    x, y = data.x[np.ix_(rows, gap.causes)], data.x[np.ix_(rows, gap.effects)]
    slopes = active_slopes(x, y, least_active=config.least_active, least_r2=config.least_r2)
    # in units of the causes' own spread: a slope on a cause that hardly moves says little
    spread = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    scaled = slopes.slope[slopes.is_read] * spread
    if len(scaled) < gap.n_factors:
        directions = np.eye(gap.n_factors, len(gap.causes))
    else:
        directions = anchor_directions(scaled, gap.n_factors, tolerance=config.tolerance)
    weight = directions / spread
    weight[np.abs(directions) < config.tolerance * np.abs(directions).max(axis=1)[:, None]] = 0.0
    z = x @ weight.T
    mean, scale = z.mean(axis=0), np.where(z.std(axis=0) > 0, z.std(axis=0), 1.0)
    R = _coefficients(slopes, directions / scale[:, None], spread, config)
    decoder = _hinges((z - mean) / scale, y, R, config.knots)
    model = GapModel(weight / scale[:, None], -mean / scale, *decoder)
    explained = 1 - float((model.noise_scale**2).sum() / max(y.var(axis=0).sum(), 1e-300))
    singular = np.linalg.svd(scaled, compute_uv=False) ** 2 if len(scaled) else np.zeros(1)
    row: dict[str, float | int | str] = {
        "r2": explained,
        "units_read": int(slopes.is_read.sum()),
        "rank_share": float(singular[: gap.n_factors].sum() / max(singular.sum(), 1e-300)),
    }
    return model, row


def _coefficients(
    slopes: ActiveSlopes, directions: np.ndarray, spread: np.ndarray, config: RectifiedConfig
) -> Float[np.ndarray, "effects factors"]:
    """R: the slopes as combinations of the directions; small ones are none."""
    R = (slopes.slope * spread) @ np.linalg.pinv(directions)
    largest = np.abs(R).max(axis=1, keepdims=True)
    return np.where((np.abs(R) >= config.tolerance * largest) & slopes.is_read[:, None], R, 0.0)


def _hinges(
    z: np.ndarray, y: np.ndarray, R: np.ndarray, n_knots: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Every effect as a smooth hinge along R_j · z, by least squares on tanh at fixed knots."""
    n_effects, n_factors = R.shape
    w1, b1 = np.zeros((n_effects, n_knots, n_factors)), np.zeros((n_effects, n_knots))
    w2, b2, noise = np.zeros((n_effects, n_knots)), y.mean(axis=0), y.std(axis=0)
    for j in np.flatnonzero(R.any(axis=1)):
        s = z @ R[j]
        at = _knots(s, y[:, j] > 0, n_knots)
        if len(at) < 2:
            continue
        width = np.gradient(at)
        features = np.c_[np.tanh((s[:, None] - at) / width), np.ones(len(s))]
        gram = features.T @ features / len(s) + 1e-7 * np.eye(len(at) + 1)
        found = np.linalg.solve(gram, features.T @ y[:, j] / len(s))
        w1[j, : len(at)], b1[j, : len(at)] = R[j] / width[:, None], -at / width
        w2[j, : len(at)], b2[j] = found[:-1], found[-1]
        noise[j] = np.sqrt(((features @ found - y[:, j]) ** 2).mean())
    return w1, b1, w2, b2, noise


def _knots(s: np.ndarray, is_active: np.ndarray, n_knots: int) -> np.ndarray:
    """Half evenly over the range of s, half ever closer to the hinge on both sides of it."""
    low, high = float(s.min()), float(s.max())
    even = np.linspace(low, high, n_knots - n_knots // 4 * 2)
    if is_active.all() or not is_active.any():
        return np.unique(even)
    hinge = (s[~is_active].max() + s[is_active].min()) / 2
    near = (high - low) * 2.0 ** -np.arange(2, n_knots // 4 + 2)
    knots = np.unique(np.concatenate([even, hinge - near, hinge + near]))
    apart = np.diff(knots, prepend=-np.inf) > 1e-3 * (high - low)
    return knots[apart & (knots >= low) & (knots <= high)]


def _status(history: list[dict[str, float | int | str]], config: RectifiedConfig) -> FitStatus:
    shares = [float(row["rank_share"]) for row in history]
    notes = tuple(
        f"Gap {number + 1}: {row['units_read']} units were read, and the factors hold "
        f"{float(row['rank_share']):.4f} of their slopes."
        for number, row in enumerate(history)
    )
    if min(shares) >= config.least_r2:
        reason = "The slopes of the active units have the rank of the factors in every gap."
        return FitStatus(converged=True, feasible=True, reason=reason, notes=notes)
    return FitStatus(
        converged=False,
        feasible=True,
        reason="The slopes of the active units do not have the rank of the factors.",
        violations={"rank": 1 - min(shares)},
        advice=("Ask for more factors, or use the solver 'bottleneck', which takes dense layers.",),
        notes=notes,
    )
