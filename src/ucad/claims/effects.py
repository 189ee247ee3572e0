"""What interventions did at both ends of each low-level edge, beside what the model expects."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.special import stdtrit

from ucad.claims.clamps import centred_within
from ucad.claims.samples import Rows, TestSamples

__all__ = [
    "Slopes",
    "acting_on_cause",
    "acting_on_effect",
    "baseline",
    "contribution",
    "is_fixed",
]

CONSTANT = 1e-3
"""The standard deviation within a regime, in units of the free variable's, of a fixed value."""

MIN_POWER = 1e-6
"""Σ c² below which a cause adds nothing that could be measured."""

MAX_BASELINE_ROWS, MAX_BASELINE_ROWS_IF_LARGE = 4000, 500
"""Samples in which a variable is free that regimes are compared with: a mean of 4,000 is known to
2 % of a standard deviation, one of 500 to 4 %, less than what a regime of its own size adds."""

MAX_ACTED_ROWS = 2000
"""Samples of one regime that are looked at: a mean of 2,000 is known to 2 %."""

MIN_ACTED_ROWS = 10
"""Samples of a regime for a contrast: a mean of ten is known to a third of a standard deviation."""


Vector = Float[np.ndarray, " edges"]

Measured = tuple[np.ndarray, np.ndarray, np.ndarray]
"""c, y and where y is free, each rows × edges."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """Estimates of one quantity per edge, pooled by their precision.

    Attributes:
        precision: Σ 1 / se².
        weighted: Σ b / se².
        n_samples: how many samples they rest on.
    """

    precision: Vector
    weighted: Vector
    n_samples: int = 0

    @property
    def value(self) -> Vector:
        """The pooled estimate b; 0 where nothing was measured."""
        return self.weighted / np.maximum(self.precision, 1e-300)

    @property
    def error(self) -> Vector:
        """Its standard error; infinite where nothing was measured."""
        return np.where(self.precision > 0, 1 / np.sqrt(np.maximum(self.precision, 1e-300)), np.inf)

    def threshold(self, level: float) -> float:
        """The number of standard errors that chance exceeds with this probability (Student's t)."""
        return float(-stdtrit(max(self.n_samples - 2, 1), level))


def acting_on_cause(samples: TestSamples, i: int, effects: Rows) -> Slopes:
    """The slope b of y = e_j + c_ij = b · c_ij + …, where i is acted on and j is free.

    c_ij = F_X(τ(x))_j − F_X(τ(x with x_i at its mean))_j is what x_i adds to x_j in the model. b
    is 1 if acting on i does what the model says, and 0 if it does nothing. Within regimes y is
    regressed on c; the mean of y in every regime, and its spread where i was held at a value, are
    compared with those where i is free. O(samples · edges of i).
    """
    rows = np.flatnonzero(samples.is_intervened[:, i])[:MAX_ACTED_ROWS]
    total = Slopes(np.zeros(len(effects)), np.zeros(len(effects)))
    if len(rows) < MIN_ACTED_ROWS or len(effects) == 0:
        return total
    c, y = contribution(samples, i, effects, rows)
    total = _within(c, y, _free(samples, rows, effects), samples.regime[rows])
    fixed, base = is_fixed(samples, i, rows), baseline(samples, i)
    at_base = (*contribution(samples, i, effects, base), _free(samples, base, effects))
    for at in _by_regime(samples, rows, base):
        here = (c[at], y[at], _free(samples, rows[at], effects))
        total = _pooled(total, _contrast(here, at_base))
        if fixed[at].all():
            total = _pooled(total, _spread_contrast(here, at_base))
    return total


def acting_on_effect(
    samples: TestSamples, j: int, causes: Rows, told_soft: Collection[str] = ()
) -> tuple[Slopes, Float[np.ndarray, " edges"]]:
    """The slope of e_i on x_j where j is acted on, and β, the slope where j is free.

    If i → j, x_j is independent of e_i once j is set from outside; if j → i, the slope stays.
    In regimes that are known to be soft x_j still follows its causes: they say nothing. Means are
    compared only where x_j was held: if some of its samples were never acted on, in spite of their
    label, the slope within the regime tells, and the step of the means must not hide it.
    """
    is_soft = np.isin(np.array(samples.regime_names), list(told_soft))[samples.regime]
    rows = np.flatnonzero(samples.is_intervened[:, j] & ~is_soft)[:MAX_ACTED_ROWS]
    total = Slopes(np.zeros(len(causes)), np.zeros(len(causes)))
    base = baseline(samples, j)
    e, x = samples.residual[np.ix_(base, causes)], samples.x[base, j][:, None]
    free = _free(samples, base, causes)
    beta = (e * x * free).sum(axis=0) / np.maximum((x**2 * free).sum(axis=0), 1e-12)
    if len(rows) < MIN_ACTED_ROWS or len(causes) == 0:
        return total, beta
    x_j, e_i, is_free = _beside(samples, j, causes, rows)
    total = _within(x_j, e_i, is_free, samples.regime[rows])
    there, fixed = _beside(samples, j, causes, base), is_fixed(samples, j, rows)
    for at in _by_regime(samples, rows[fixed], base):
        held = _beside(samples, j, causes, rows[fixed][at])
        total = _pooled(total, _contrast(held, there))
    return total, beta


def _beside(samples: TestSamples, j: int, causes: Rows, rows: Rows) -> Measured:
    """x_j, once per cause, the residual of each cause, and where that is free."""
    x_j = np.repeat(samples.x[rows, j][:, None], len(causes), axis=1)
    return x_j, samples.residual[np.ix_(rows, causes)], _free(samples, rows, causes)


def _by_regime(samples: TestSamples, rows: Rows, base: Rows) -> list[Rows]:
    """Where in the rows each regime of enough samples is; none if the baseline has too few."""
    regime = samples.regime[rows]
    found = [np.flatnonzero(regime == label) for label in np.unique(regime)]
    return [at for at in found if min(len(at), len(base)) >= MIN_ACTED_ROWS]


def is_fixed(samples: TestSamples, i: int, rows: Rows) -> np.ndarray:
    """Which of the rows belong to regimes that hold x_i at one value."""
    regime, x = samples.regime[rows], samples.x[rows, i]
    centred = centred_within(x, regime)
    sd = np.sqrt(np.bincount(regime, weights=centred**2) / np.maximum(np.bincount(regime), 1))
    return np.asarray(sd[regime] < CONSTANT)


def baseline(samples: TestSamples, i: int) -> Rows:
    """Samples in which i is free, spread over all of them."""
    rows = np.flatnonzero(~samples.is_intervened[:, i])
    most = MAX_BASELINE_ROWS_IF_LARGE if samples.is_large else MAX_BASELINE_ROWS
    return rows[:: max(1, len(rows) // most)]


def _free(samples: TestSamples, rows: Rows, variables: Rows) -> np.ndarray:
    return ~samples.is_intervened[np.ix_(rows, variables)]


def contribution(
    samples: TestSamples, i: int, effects: Rows, rows: Rows, along: Rows | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """c_ij and y = e_j + c_ij, in units of x_j's standard deviation.

    Along all factors that read x_i, or along some of them.

    Only the factors that read x_i are computed again: all of them, for every variable, took minutes
    with 768 units of a network.
    """
    scm, without = samples.scm, samples.scm.tensor(samples.original(rows))
    without[:, i] = float(samples.mean[i])
    along = np.flatnonzero(samples.graph.Q[i]) if along is None else along
    factors = torch.from_numpy(along).to(without.device)
    z_without = scm.tensor(samples.original_factors(rows))
    z_without[:, factors] = scm.factor_mechanism(without, factors)
    targets = torch.from_numpy(effects).to(without.device)
    made = scm.variable_mechanism(z_without, targets).detach().cpu().numpy()
    there = (made - samples.mean[effects]) / samples.sd[effects]
    c = samples.expected[np.ix_(rows, effects)] - there
    return c, samples.residual[np.ix_(rows, effects)] + c


def _within(c: np.ndarray, y: np.ndarray, free: np.ndarray, regime: np.ndarray) -> Slopes:
    """Slopes within regimes, with standard errors that hold for unequal spread (jackknife)."""
    c, y = centred_within(c, regime) * free, centred_within(y, regime) * free
    power = np.maximum((c**2).sum(axis=0), MIN_POWER)
    b = (c * y).sum(axis=0) / power
    left = (y - b * c) / np.clip(1 - c**2 / power, 0.1, 1.0)  # what each sample left to the others
    variance = (c**2 * left**2).sum(axis=0) / power**2
    return _slopes(b, variance, power > MIN_POWER, len(c))


def _contrast(here: Measured, base: Measured) -> Slopes:
    """Δ mean(y) / Δ mean(c) between a regime and the baseline."""
    (c1, v1), (c0, v0) = (_mean_and_error(c, free) for c, _, free in (here, base))
    (y1, u1), (y0, u0) = (_mean_and_error(y, free) for _, y, free in (here, base))
    step = c1 - c0
    is_large = step**2 > 9 * (v1 + v0)
    safe = np.where(is_large, step, 1.0)
    return _slopes((y1 - y0) / safe, (u1 + u0) / safe**2, is_large, len(here[0]))


def _spread_contrast(here: Measured, base: Measured) -> Slopes:
    """(Var₀ y − Var₁ y) / Var₀ c: holding the cause fixed takes its part out of the spread."""
    y1, u1 = _variance_and_error(here[1], here[2])
    y0, u0 = _variance_and_error(base[1], base[2])
    c0, _ = _variance_and_error(base[0], base[2])
    safe = np.maximum(c0, 1e-12)
    return _slopes((y0 - y1) / safe, (u0 + u1) / safe**2, c0 > 1e-6, len(here[0]))


def _slopes(b: np.ndarray, variance: np.ndarray, known: np.ndarray, n_samples: int) -> Slopes:
    precision = np.where(known, 1 / np.maximum(variance, 1e-12), 0.0)
    return Slopes(precision, precision * np.where(known, b, 0.0), n_samples)


def _mean_and_error(values: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    count = np.maximum(free.sum(axis=0), 1)
    mean = (values * free).sum(axis=0) / count
    return mean, ((values - mean) ** 2 * free).sum(axis=0) / count**2


def _variance_and_error(values: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    count = np.maximum(free.sum(axis=0), 1)
    mean = (values * free).sum(axis=0) / count
    squared = (values - mean) ** 2 * free
    variance = squared.sum(axis=0) / count
    return variance, ((squared - variance) ** 2 * free).sum(axis=0) / count**2


def _pooled(one: Slopes, other: Slopes) -> Slopes:
    return Slopes(
        one.precision + other.precision,
        one.weighted + other.weighted,
        max(one.n_samples, other.n_samples),
    )
