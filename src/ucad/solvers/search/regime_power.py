"""Which effects the regimes of a variable had the power to show, so that their absence counts."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from ucad._types import BooleanMatrix
from ucad.solvers.search.regime_tests import RegimeTests

__all__ = ["POWER", "is_tested"]

POWER = 15.0
"""Nats an effect must be expected to show before its absence counts: T then misses a line of
3 nats with probability 1e-3, (√6 + 3.09)² / 2."""

MIN_ROWS = 50
"""Samples with a varying clamp after which a pair counts as tested."""


def is_tested(tests: RegimeTests) -> BooleanMatrix:
    """Which pairs had the power to show an effect worth an edge.

    Expected are Σ f² · slope² / (2 var x_j) nats, f the change of x_v and the slope of x_j on
    x_v that of the reference samples. Where v takes varying values from outside, enough
    samples are power, too, unless the reference samples show an effect that is too weak to be
    seen there: a slope may be 0 and the effect not.
    """
    data, n = tests.data, tests.data.n_variables
    tested = np.zeros((n, n), dtype=bool)
    square = tests.alone.sums(tests.change**2)
    place = {int(v): at for at, v in enumerate(tests.contrasted)}
    for v in tests.targets.tolist():
        rows, hidden = tests.acted_on[v], np.zeros(n, dtype=bool)
        if v in place:
            expected, association = _expected(tests, v, float(square[place[v]]))
            tested[v] = expected >= POWER
            hidden = (expected < POWER) & (association > POWER)
        if len(rows) >= MIN_ROWS and not (tests.is_constant[v] or tests.still_listens[v]):
            enough = len(rows) - data.is_left_out[rows].sum(axis=0) >= MIN_ROWS
            tested[v] |= enough & ~hidden
    return tested


def _expected(
    tests: RegimeTests, v: int, square: float
) -> tuple[Float[np.ndarray, " variables"], Float[np.ndarray, " variables"]]:
    """Nats that the regime of v should show, and those of the reference itself."""
    cross, variance, n_rest = _reference(tests, v)
    own = max(float(cross[v]), 1e-12)
    per_square = (cross / own) ** 2 / (2 * np.maximum(variance, 1e-12))
    return square * per_square, own * per_square * (n_rest > 0)


def _reference(
    tests: RegimeTests, v: int
) -> tuple[Float[np.ndarray, " variables"], Float[np.ndarray, " variables"], int]:
    """Sums of x_j x_v, centred, and variances of x_j over the reference of v."""
    if tests.has_rest:
        cross, variance = tests.untouched_moments
        return cross[:, np.searchsorted(tests.contrasted, v)], variance, len(tests.untouched)
    moments, here = tests.data.moments, tests.data.x[tests.acted_on[v]].astype(np.float64)
    n_rest = tests.data.n_samples - len(here)
    mean = (moments.sums - here.sum(axis=0)) / n_rest
    cross = moments.total[v] - here[:, v] @ here - n_rest * mean[v] * mean
    square = np.diagonal(moments.total) - np.einsum("sj,sj->j", here, here)
    return cross, square / n_rest - mean**2, n_rest
