"""What a variable bears on the residual of another one: slopes by which findings are explained."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ucad.claims.clamps import centred_within
from ucad.claims.ridge import Ridge, curves
from ucad.claims.samples import TestSamples

__all__ = ["MIN_ACTED_ROWS", "differs", "linear_and_curved", "moves", "partial_slope"]

SIGNIFICANT = 4.0
"""Standard errors above which the effect of acting on something counts as seen."""

MIN_ACTED_ROWS = 20
"""Samples of a regime for its effect to be looked at."""

FIXED = 1e-6
"""The variance below which a variable was held at one value."""


def moves(samples: TestSamples, i: int, j: int) -> bool:
    """Whether e_j goes with x_i where i is acted on, the low-level parents held fixed."""
    found = partial_slope(samples, i, j, acted=True)
    return found is not None and abs(found[0]) > SIGNIFICANT * found[1]


def differs(samples: TestSamples, i: int, j: int) -> bool:
    """Whether x_i bears on e_j differently where i is acted on and where it is free."""
    acted, free = (partial_slope(samples, i, j, acted=side) for side in (True, False))
    if acted is None or free is None:
        return False
    return abs(acted[0] - free[0]) > SIGNIFICANT * float(np.hypot(acted[1], free[1]))


def partial_slope(
    samples: TestSamples, i: int, j: int, *, acted: bool
) -> tuple[float, float] | None:
    """The slope of e_j on x_i given the other low-level parents, with its standard error.

    Within regimes where i varies; where it was held at a value, against the samples in which it
    is free. None where there are too few samples.
    """
    rows = np.flatnonzero((samples.is_intervened[:, i] == acted) & ~samples.is_intervened[:, j])
    if len(rows) < MIN_ACTED_ROWS:
        return None
    regime = samples.regime[rows]
    if acted and centred_within(samples.x[rows, i], regime).var() < FIXED:
        rows = np.flatnonzero(~samples.is_intervened[:, j])
        regime = np.zeros(len(rows), dtype=np.int64)
    parents = np.flatnonzero(samples.graph.variable_adjacency[:, j])
    others = centred_within(samples.x[np.ix_(rows, parents[parents != i])], regime)
    x, e = (
        centred_within(values, regime) for values in (samples.x[rows, i], samples.residual[rows, j])
    )
    if others.shape[1]:
        both = np.stack([x, e], axis=1)
        both = both - others @ np.linalg.lstsq(others, both, rcond=None)[0]
        x, e = both[:, 0], both[:, 1]
    power = float(x @ x)
    if power < FIXED * len(rows):
        return None
    slope = float(x @ e) / power
    return slope, float(np.sqrt((x**2 * (e - slope * x) ** 2).sum())) / power


def linear_and_curved(
    samples: TestSamples, j: int, beside: Collection[int] = ()
) -> tuple[float, float]:
    """The share of x_j that its parents predict linearly of e_j, and what curves add to it.

    Args:
        samples: what the tests look at.
        j: the variable.
        beside: variables that are asked together with its low-level parents.
    """
    rows = samples.free(j, samples.folds[0].fit)
    parents = np.flatnonzero(samples.graph.variable_adjacency[:, j])
    asked = np.union1d(parents, list(beside)).astype(np.int64)
    if len(asked) == 0:
        return 0.0, 0.0
    e, u = samples.residual[rows, j], samples.x[np.ix_(rows, asked)]
    z = samples.z[np.ix_(rows, samples.factors_of[j])]
    e = e - _prediction(curves(z), e) if z.shape[1] else e - e.mean()
    linear, smooth = (float(_prediction(columns, e).var()) for columns in (u, curves(u)))
    return linear, max(smooth - linear, 0.0)


def _prediction(columns: np.ndarray, y: np.ndarray) -> np.ndarray:
    ridge = Ridge(columns)
    return y.mean() + ridge.X @ ridge.weights(y[:, None])[:, 0]
