"""The noise with which variables are read: known for counts, given, or from replicates."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from ucad._types import VariableSamples, WhichIntervened
from ucad.data.dataset import InterventionalData
from ucad.errors import InvalidInputError, did_you_mean

__all__ = [
    "MEASUREMENTS",
    "Counts",
    "counts_behind",
    "depths",
    "noise_from_replicates",
    "reading_noise",
]

MEASUREMENTS = ("none", "gaussian", "counts", "auto")
"""What may be said of how variables were read."""

MAX_SMALLEST_COUNT = 200
"""The largest count that a sample's smallest positive one may be, for its depth to be found."""

WHOLE = 1e-3
"""How far a number may be off a whole one to count as one: single precision, at counts of 1,000."""

ZERO = 1e-9
"""What rounding leaves of a rate of 0 after data were standardised and back."""

MAX_LOG = 100.0
"""The largest log(1 + count / depth) there can be: e^100 is far above any count."""

COUNTED = 0.99
"""The share of the samples whose values must be multiples of one unit for data to be counts."""

N_LOOKED_AT = 64
"""Samples that are looked at first: values that are no counts then cost next to nothing."""

N_DRAWS = 4000
"""Pairs of simulated readings per variable: a variance is then known to about 3 %."""

Noise: TypeAlias = float | Sequence[float] | Float[np.ndarray, " variables"] | None


class Counts(NamedTuple):
    """Counts behind values that are counts, or log(1 + count / depth).

    Attributes:
        rate: count / depth.
        depth: of every sample; 1 where counts are not normalised.
        is_logged: whether the values are logarithms.
    """

    rate: VariableSamples
    depth: Float[np.ndarray, " samples"]
    is_logged: bool


def reading_noise(
    data: InterventionalData, measurement: str, given: Noise = None
) -> Float[np.ndarray, " variables"] | None:
    """The variance D of the noise of every variable's readings, in the units of `data.x`.

    Args:
        data: the readings.
        measurement: `none`; `gaussian`, with noise that is given; `counts`, whose noise is
            Poisson's; `auto`: counts where the values are whole numbers, or logarithms
            log(1 + count / depth) of them, else none.
        given: the standard deviation of Gaussian noise, for all variables or for each.

    Raises:
        InvalidInputError: the values are no counts, or the noise is not given or not a size.
    """
    if measurement not in MEASUREMENTS:
        raise InvalidInputError(
            f"The 'measurement' parameter must be one of {', '.join(MEASUREMENTS)}. Got "
            f"{measurement!r} instead.{did_you_mean(str(measurement), MEASUREMENTS)}"
        )
    if measurement == "gaussian":
        return _given_noise(given, data.n_variables)
    if given is not None:
        raise InvalidInputError(
            f"'measurement_noise' goes with measurement='gaussian'. Got {measurement!r}."
        )
    if measurement == "none":
        return None
    raw = data.unstandardised()
    counts = counts_behind(raw.x, ~raw.is_left_out)
    if counts is None and measurement == "counts":
        raise InvalidInputError(
            "measurement='counts' wants whole numbers, or logarithms log(1 + count / depth) of "
            "them. These values are neither. Give counts (for an .h5ad file with --log-counts), or "
            "use measurement='gaussian' with the noise of a reading."
        )
    if counts is None:
        return None
    scale = 1.0 if data.scaling is None else data.scaling.scale
    variance: Float[np.ndarray, " variables"] = _poisson_noise(counts) / np.square(scale)
    return variance


def counts_behind(x: VariableSamples, is_seen: WhichIntervened | None = None) -> Counts | None:
    """The counts that values are, or are log(1 + count / depth) of; None if they are neither.

    Normalised values of one sample are whole multiples of one unit, 1 / depth, which the smallest
    positive value is a small multiple of.

    Args:
        x: the values.
        is_seen: which of them must be counts; others, set from outside, may be anything.
    """
    seen = x if is_seen is None else np.where(is_seen, x, 0.0)
    if (seen < -WHOLE).any() or not (seen > 0).any():
        return None
    if (np.abs(seen - np.round(seen)) < WHOLE).all():
        return Counts(np.maximum(x, 0.0), np.ones(len(x)), is_logged=False)
    if (seen > MAX_LOG).any():
        return None
    rate = np.expm1(np.clip(x, 0.0, MAX_LOG))
    rate[rate < ZERO] = 0.0
    few = np.linspace(0, len(x) - 1, min(len(x), N_LOOKED_AT)).astype(int)
    for rows in (few, np.arange(len(x))):
        depth, is_empty = _depths(rate[rows], None if is_seen is None else is_seen[rows])
        found = depth > 0
        if not found.any() or (found | is_empty).mean() < COUNTED:
            return None
    return Counts(rate, np.where(found, depth, np.median(depth[found])), is_logged=True)


def depths(
    rate: VariableSamples, is_seen: WhichIntervened | None = None
) -> Float[np.ndarray, " samples"]:
    """The depth of samples whose values are count / depth; the median, or 1, where unknown."""
    depth, _ = _depths(np.where(rate < ZERO, 0.0, rate), is_seen)
    found = depth > 0
    return np.where(found, depth, np.median(depth[found]) if found.any() else 1.0)


def _depths(
    rate: VariableSamples, is_seen: WhichIntervened | None
) -> tuple[Float[np.ndarray, " samples"], Bool[np.ndarray, " samples"]]:
    """The depth of every sample, 0 where none fits, and which samples are empty."""
    rate = rate if is_seen is None else np.where(is_seen, rate, 0.0)
    smallest = np.where(rate > 0, rate, np.inf).min(axis=1, initial=np.inf)
    depth, is_empty = np.zeros(len(rate)), np.isinf(smallest)
    for count in range(1, MAX_SMALLEST_COUNT + 1):
        open_ = np.flatnonzero((depth == 0) & ~is_empty)
        if not len(open_):
            break
        per_unit = count / smallest[open_]
        fits = _are_whole(rate[open_] * per_unit[:, None])
        depth[open_[fits]] = per_unit[fits]
    return depth, is_empty


def noise_from_replicates(
    x: VariableSamples, sample: Sequence[Hashable]
) -> Float[np.ndarray, " variables"]:
    """The standard deviation of readings of the same sample around their mean, per variable.

    Σ_s Σ_r (x_sr − x̄_s)² / Σ_s (R_s − 1), over the samples that were read R_s > 1 times.

    Args:
        x: the readings, one row each.
        sample: which sample each row is a reading of.
    """
    _, group = np.unique(np.array([repr(one) for one in sample]), return_inverse=True)
    size = np.bincount(group)
    freedom = int((size - 1).sum())
    if len(group) != len(x) or freedom < 1:
        raise InvalidInputError(
            "Replicates must name the sample of every row, some of them more than once. Got "
            f"{len(group)} names of {len(size)} samples for {len(x)} rows."
        )
    mean = np.zeros((len(size), x.shape[1]))
    np.add.at(mean, group, x)
    within = x - (mean / size[:, None])[group]
    noise: Float[np.ndarray, " variables"] = np.sqrt((within**2).sum(axis=0) / freedom)
    return noise


def _are_whole(values: Float[np.ndarray, "rows columns"]) -> Bool[np.ndarray, " rows"]:
    off = np.abs(values - np.round(values)) > WHOLE * np.maximum(values, 1.0) ** 0.5
    return np.logical_not(off.any(axis=1))


def _given_noise(given: Noise, n_variables: int) -> Float[np.ndarray, " variables"]:
    try:
        noise = np.asarray(np.nan if given is None else given, dtype=np.float64)
    except (TypeError, ValueError):
        noise = np.array(np.nan)
    if noise.shape not in ((), (n_variables,)) or not (np.isfinite(noise) & (noise >= 0)).all():
        raise InvalidInputError(
            "measurement='gaussian' wants 'measurement_noise': the standard deviation of a "
            f"reading, one number of at least 0 or one for each of {n_variables} variables (from "
            f"replicates: ucad.data.readings.noise_from_replicates). Got {given!r} instead."
        )
    return np.broadcast_to(noise**2, (n_variables,)).copy()


def _poisson_noise(counts: Counts) -> Float[np.ndarray, " variables"]:
    """E[Var(f(count / depth) | level)]: half the mean square of what two readings differ by.

    Of counts themselves that is their mean. For logarithms, levels are drawn from the log-normal
    law that has the mean and the variance of the rates, Poisson's part λ / depth taken off, and
    every level is read twice, at the depth of some sample.
    """
    rate, depth = counts.rate, counts.depth[:, None]
    mean = rate.mean(axis=0)
    if not counts.is_logged:
        return mean
    rng = np.random.default_rng(0)
    variance = rate.var(axis=0)
    variance = np.maximum(variance - (rate / depth).mean(axis=0), WHOLE * variance)
    square = np.log1p(variance / np.maximum(mean, 1e-12) ** 2)
    level = rng.standard_normal((N_DRAWS, len(mean))) * np.sqrt(square) - square / 2
    level = mean * np.exp(level)
    at = depth[rng.integers(len(depth), size=N_DRAWS)]
    readings = [np.log1p(rng.poisson(level * at) / at) for _ in range(2)]
    noise: Float[np.ndarray, " variables"] = ((readings[0] - readings[1]) ** 2).mean(axis=0) / 2
    return noise
