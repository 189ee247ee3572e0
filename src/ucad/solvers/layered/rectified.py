"""The rectified solver: exact factors of ReLU layers, from what they do while they are active."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from ucad._types import Progress, ProgressEvent
from ucad.data import InterventionalData
from ucad.scm import LinearMechanism, MLPMechanism
from ucad.solvers.budget import Budget
from ucad.solvers.layered.active_slopes import (
    MIN_R2,
    TOLERANCE,
    ActiveSlopes,
    active_slopes,
    anchor_directions,
)
from ucad.solvers.layered.fit_pairs import PairFit, fit_pairs
from ucad.solvers.layered.layer_pairs import PairData, layer_pairs
from ucad.solvers.layered.pair_model import PairModel, network
from ucad.solvers.status import FitResult, FitStatus, HistoryRow

__all__ = ["fit_rectified"]

N_KNOTS = 32
"""Tanh units that rebuild the hinge of each unit: half along its whole range, half close to the
hinge, where eight on either side come within 2⁻⁹ of the range."""

TANH_RIDGE = 1e-7
"""Ridge of the regression on tanh features, whose mean squares are near 1 (no unit): neighbouring
features are nearly equal, and their coefficients would otherwise cancel at any size."""

MIN_KNOT_DISTANCE = 1e-3
"""Knots closer than this share of the range of R_j · z (no unit) are merged: closer ones would
rebuild a hinge more sharply than the ridge lets them."""

SMALLEST = 1e-300
"""Stands for a variance of 0 in a denominator."""


def fit_rectified(
    data: InterventionalData,
    n_factors: int,
    *,
    factors_per_pair: Sequence[int] | None = None,
    validation: InterventionalData | None = None,
    progress: Progress | None = None,
    max_seconds: float | None = None,
) -> FitResult:
    """Finds z = W x_l and x_{l+1} = max(0, R z + c) in every pair of layers, R with out-anchors.

    A rectified unit is affine in the layer before it wherever it is above 0, with slope R_j W. So
    the slopes of all units have rank m, and those of units with a single parent (out-anchors) are
    rows of W up to scale: W is read off m of the slopes, those with which the pair has the fewest
    edges. This is exact, needs no training and no labels, and the status says so when the slopes
    do not have rank m, as in a dense network.

    O(samples · causes²) for each unit, and at most 50,000 choices of m slopes.

    Args:
        data: samples of layered variables, standardised or not, rectified as they were measured.
        n_factors: number of factors of all pairs together.
        factors_per_pair: how many factors lie in each pair of layers; equally many if None.
        validation: held-out samples in the same units; the data themselves if None.
        progress: called after every pair of layers.
        max_seconds: limit on the time of the fit; then the best choice of slopes so far is taken.
    """
    budget, pairs = Budget(max_seconds), layer_pairs(data, n_factors, factors_per_pair)

    def fit_pair(number: int, data: PairData, stopped: bool) -> PairFit:
        del stopped  # Ctrl-C ends this solver at once
        found = _fit_pair(data, budget)
        if progress is not None:
            progress(ProgressEvent("Pairs of layers", number + 1, len(pairs)))
        return found

    return fit_pairs(data, pairs, fit_pair, _status, validation, budget)


def _fit_pair(data: PairData, budget: Budget) -> PairFit:
    n_factors = data.pair.n_factors
    together = active_slopes(np.c_[data.x, data.w], data.y, data.is_active)
    n_causes = data.x.shape[1]
    slopes = together._replace(slope=together.slope[:, :n_causes])
    on_context = np.where(slopes.is_read[:, None], together.slope[:, n_causes:], 0.0)
    # in units of the causes' own spread: a slope on a cause that hardly moves says little
    spread = np.where(data.x.std(axis=0) > 0, data.x.std(axis=0), 1.0)
    scaled = slopes.slope[slopes.is_read] * spread
    if len(scaled) < n_factors:
        directions = np.eye(n_factors, data.x.shape[1])
    else:
        directions = anchor_directions(scaled, n_factors, budget)
    weight = directions / spread
    weight[np.abs(directions) < TOLERANCE * np.abs(directions).max(axis=1)[:, None]] = 0.0
    z = data.x @ weight.T
    mean, scale = z.mean(axis=0), np.where(z.std(axis=0) > 0, z.std(axis=0), 1.0)
    R = _coefficients(slopes, directions / scale[:, None], spread)
    decoder, noise = _decoder(data, np.c_[(z - mean) / scale, data.w], np.c_[R, on_context])
    encoder = LinearMechanism(torch.tensor(weight / scale[:, None]), torch.tensor(-mean / scale))
    covariates = np.arange(data.w.shape[1])
    model = PairModel(data.pair.causes, data.pair.effects, encoder, decoder, noise, covariates)
    explained = 1 - (noise**2).sum() / max(data.y.var(axis=0).sum(), SMALLEST)
    singular = np.linalg.svd(scaled, compute_uv=False) ** 2 if len(scaled) else np.zeros(1)
    figures: HistoryRow = {
        "r2": float(explained),
        "units_read": int(slopes.is_read.sum()),
        "rank_share": float(singular[:n_factors].sum() / max(singular.sum(), SMALLEST)),
    }
    return PairFit(model, figures)


def _coefficients(
    slopes: ActiveSlopes,
    directions: Float[np.ndarray, "factors causes"],
    spread: Float[np.ndarray, " causes"],
) -> Float[np.ndarray, "effects factors"]:
    """Returns R, the slopes as combinations of the directions; small coefficients become 0."""
    R = (slopes.slope * spread) @ np.linalg.pinv(directions)
    largest = np.abs(R).max(axis=1, keepdims=True)
    return np.where((np.abs(R) >= TOLERANCE * largest) & slopes.is_read[:, None], R, 0.0)


def _decoder(
    data: PairData,
    z: Float[np.ndarray, "samples inputs"],
    R: Float[np.ndarray, "effects inputs"],
) -> tuple[MLPMechanism, Float[np.ndarray, " effects"]]:
    """Returns F_X, a smooth hinge along every R_j · z, and the noise that it leaves.

    By least squares on tanh at fixed knots. The inputs are factors and covariates side by side.
    """
    (n_effects, n_inputs), y = R.shape, data.y
    w1, b1 = np.zeros((n_effects, N_KNOTS, n_inputs)), np.zeros((n_effects, N_KNOTS))
    w2, b2, noise = np.zeros((n_effects, N_KNOTS)), y.mean(axis=0), y.std(axis=0)
    is_active = data.is_active
    for j in np.flatnonzero(R.any(axis=1)):
        s = z @ R[j]
        at = _knots(s, is_active[:, j])
        if len(at) < 2:
            continue
        width = np.gradient(at)
        features = np.c_[np.tanh((s[:, None] - at) / width), np.ones(len(s))]
        gram = features.T @ features / len(s) + TANH_RIDGE * np.eye(len(at) + 1)
        found = np.linalg.solve(gram, features.T @ y[:, j] / len(s))
        w1[j, : len(at)], b1[j, : len(at)] = R[j] / width[:, None], -at / width
        w2[j, : len(at)], b2[j] = found[:-1], found[-1]
        noise[j] = np.sqrt(((features @ found - y[:, j]) ** 2).mean())
    return network(w1, b1, w2, b2), noise


def _knots(s: np.ndarray, is_active: np.ndarray) -> np.ndarray:
    """Returns knots: half evenly over the range of s, half ever closer to the hinge, both sides."""
    low, high = float(s.min()), float(s.max())
    even = np.linspace(low, high, N_KNOTS - N_KNOTS // 4 * 2)
    if is_active.all() or not is_active.any():
        return np.unique(even)
    hinge = (s[~is_active].max() + s[is_active].min()) / 2
    near = (high - low) * 2.0 ** -np.arange(2, N_KNOTS // 4 + 2)
    knots = np.unique(np.concatenate([even, hinge - near, hinge + near]))
    apart = np.diff(knots, prepend=-np.inf) > MIN_KNOT_DISTANCE * (high - low)
    return knots[apart & (knots >= low) & (knots <= high)]


def _status(history: Sequence[HistoryRow]) -> FitStatus:
    missing = 1 - min(float(row["rank_share"]) for row in history)
    has_rank = missing <= 1 - MIN_R2
    reason = "The slopes of the active units have the rank of the factors in every pair of layers."
    advice: tuple[str, ...] = ()
    if not has_rank:
        reason = "The slopes of the active units do not have the rank of the factors."
        advice = (
            "Ask for more factors, or use the solver 'bottleneck', which takes dense layers.",
        )
    notes = (
        f"Layers {number + 1} and {number + 2}: {row['units_read']} units were read, and the "
        f"factors hold {float(row['rank_share']):.4f} of their slopes."
        for number, row in enumerate(history)
    )
    return FitStatus(
        converged=has_rank,
        feasible=True,
        reason=reason,
        violations={} if has_rank else {"rank": missing},
        advice=advice,
        notes=tuple(notes),
    )
