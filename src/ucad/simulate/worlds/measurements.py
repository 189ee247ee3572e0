"""Measurements: what is seen of the true values of the variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from ucad._types import VariableSamples
from ucad.simulate.worlds.problem import Measured, Violation, measure_exactly

__all__ = ["MEASUREMENTS", "Measure", "log_normalised", "read_counts", "read_technically"]

Measure: TypeAlias = Callable[[VariableSamples, np.random.Generator], Measured]

DEPTH_SPREAD = 0.4
"""The standard deviation of the logarithm of the depth, over samples: a factor of 2.2 between the
16th and the 84th percentile, as in a droplet-based experiment."""

LOG_EFFECT = 0.7
"""The change in the logarithm of a rate per standard deviation of a variable: a doubling."""

DISPERSION = 0.2
"""The part of a count's variance beyond Poisson's, in units of mean²."""

N_BATCHES = 3
"""Batches in which samples are measured."""

OUTLIER_SIZE = 10.0
"""How far an outlier is off, in standard deviations of a variable."""

OUTLIER_SHARE = 0.01
"""The share of genes whose level is off, as in SERGIO's data sets."""

LIBRARY = 1.9
"""Transcripts per gene in a typical cell before drop-outs; with them 56 % of the counts are zero,
as in the table of the first version."""

SHARPNESS, DROPPED = 6.5, 0.4
"""The slope of the logistic probability to be read, as in SERGIO, and the quantile of logarithms
of levels at which it is a half."""

N_CALIBRATION = 20_000
"""Normal draws with which the share of zeros is set, to within half a per cent."""


def read_counts(
    log_rate: VariableSamples, rng: np.random.Generator, *, dispersion: float = DISPERSION
) -> Measured:
    """Negative binomial counts of mean depth · exp(log_rate), with the depth of every sample."""
    log_depth = DEPTH_SPREAD * rng.standard_normal((len(log_rate), 1)) - DEPTH_SPREAD**2 / 2
    rate = np.exp(log_rate + log_depth)
    if dispersion > 0:
        rate = rate * rng.gamma(1 / dispersion, dispersion, rate.shape)
    return Measured(rng.poisson(rate).astype(np.float64), {"log_depth": log_depth[:, 0]})


def read_technically(levels: VariableSamples, rng: np.random.Generator) -> Measured:
    """Counts with the technical noise of SERGIO: outliers, library sizes, drop-outs, Poisson.

    A gene in a hundred is scaled by exp(N(0.8, 1)); a cell's levels are scaled to a library of
    exp(N(log(LIBRARY · genes), 0.4²)); a level y is read at all with the logistic probability of
    SHARPNESS · (log(1 + y) − its quantile DROPPED); what is read is Poisson.
    """
    is_outlier = rng.random(levels.shape[1]) < OUTLIER_SHARE
    levels = levels * np.where(is_outlier, np.exp(rng.normal(0.8, 1.0, levels.shape[1])), 1.0)
    log_size = np.log(LIBRARY * levels.shape[1]) + DEPTH_SPREAD * rng.standard_normal(len(levels))
    total = np.maximum(levels.sum(axis=1), 1e-12)
    levels = levels * (np.exp(log_size) / total)[:, None]
    logs = np.log1p(levels)
    seen = rng.random(levels.shape) < expit(SHARPNESS * (logs - np.quantile(logs, DROPPED)))
    counts = rng.poisson(levels * seen).astype(np.float64)
    depth = np.maximum(counts.sum(axis=1), 1.0)
    return Measured(counts, {"log_depth": np.log(depth / depth.mean())})


def log_normalised(counts: Measured) -> Measured:
    """log(1 + count / depth), the depth relative to the average one."""
    depth = np.exp(counts.covariates["log_depth"])[:, None]
    return Measured(np.log1p(counts.x / depth), counts.covariates)


def _exact(_level: float, _n_variables: int, _rng: np.random.Generator) -> Measure:
    return measure_exactly


def _read_noise(level: float, _n_variables: int, _rng: np.random.Generator) -> Measure:
    """Adds normal noise of that standard deviation."""
    return lambda x, rng: Measured(x + level * rng.standard_normal(x.shape), {})


def _some_read_noise(level: float, n_variables: int, rng: np.random.Generator) -> Measure:
    """Adds normal noise of that standard deviation to a quarter of the variables."""
    spread = level * (rng.permutation(n_variables) < n_variables // 4)
    return lambda x, rng: Measured(x + spread * rng.standard_normal(x.shape), {})


def _rounded(level: float, _n_variables: int, _rng: np.random.Generator) -> Measure:
    """Rounds to multiples of that number."""
    return lambda x, _rng: Measured(level * np.round(x / level), {})


def _raw_counts(level: float, _n_variables: int, rng: np.random.Generator) -> Measure:
    """Counts of which that share is zero, where the variables are standard normal."""
    pilot = LOG_EFFECT * rng.standard_normal((N_CALIBRATION, 1))

    def excess_zeros(log_mean: float) -> float:
        # The same draws at every trial, so that the share falls steadily with the mean.
        counts = read_counts(pilot + log_mean, np.random.default_rng(0)).x
        return float((counts == 0).mean()) - level

    log_mean = brentq(excess_zeros, -12.0, 12.0, xtol=1e-3)
    return lambda x, rng: read_counts(log_mean + LOG_EFFECT * x, rng)


def _log_counts(level: float, n_variables: int, rng: np.random.Generator) -> Measure:
    """The same counts, as log(1 + count / depth)."""
    count = _raw_counts(level, n_variables, rng)
    return lambda x, rng: log_normalised(count(x, rng))


def _exponential(level: float, _n_variables: int, _rng: np.random.Generator) -> Measure:
    """The exponential of so many times the variable."""
    return lambda x, _rng: Measured(np.exp(level * x), {})


def _batches(level: float, n_variables: int, rng: np.random.Generator) -> Measure:
    """Adds an offset per batch and variable of that standard deviation."""
    offsets = level * rng.standard_normal((N_BATCHES, n_variables))

    def measure(x: VariableSamples, rng: np.random.Generator) -> Measured:
        batch = rng.integers(N_BATCHES, size=len(x))
        return Measured(x + offsets[batch], {"batch": batch})

    return measure


def _outliers(level: float, _n_variables: int, _rng: np.random.Generator) -> Measure:
    """Puts that share of all entries far off."""

    def measure(x: VariableSamples, rng: np.random.Generator) -> Measured:
        error = OUTLIER_SIZE * rng.choice([-1.0, 1.0], x.shape)
        return Measured(x + error * (rng.random(x.shape) < level), {})

    return measure


def _saturated(level: float, _n_variables: int, _rng: np.random.Generator) -> Measure:
    """Cuts off values beyond that limit, as a sensor does at the end of its range."""
    return lambda x, _rng: Measured(np.clip(x, -level, level), {})


MEASUREMENTS: dict[
    str,
    tuple[Callable[[float, int, np.random.Generator], Measure], tuple[Violation, ...]],
] = {
    "exact": (_exact, ()),
    "read-noise": (_read_noise, (Violation.MEASUREMENT_NOISE,)),
    "some-read-noise": (_some_read_noise, (Violation.MEASUREMENT_NOISE,)),
    "rounded": (_rounded, (Violation.TRANSFORMED,)),
    "counts": (_log_counts, (Violation.COUNTS, Violation.MEASUREMENT_NOISE)),
    "raw-counts": (_raw_counts, (Violation.COUNTS, Violation.MEASUREMENT_NOISE)),
    "exponential": (_exponential, (Violation.TRANSFORMED,)),
    "batches": (_batches, (Violation.BATCH,)),
    "outliers": (_outliers, (Violation.MEASUREMENT_NOISE,)),
    "saturated": (_saturated, (Violation.TRANSFORMED,)),
}
"""Measurements by name, with what each breaks. Each takes a level: the standard deviation of the
read noise, the step of rounding, the share of zeros, the factor in the exponent, the standard
deviation of the offsets, the share of outliers, the limit."""
