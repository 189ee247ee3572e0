"""Noise of other families than the normal one, and variables that are not a sum with noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float
from scipy.signal import lfilter
from scipy.stats import norm

from ucad._types import VariableSamples
from ucad.simulate.worlds.system import Context, DrawNoise

__all__ = ["EMISSIONS", "NOISES", "Emission", "scaled_noise"]

DEGREES_OF_FREEDOM = 3
"""Of the Student-t noise: the smallest whole number for which the variance is finite."""

MEMORY = 0.9
"""The correlation of one sample's noise with the next one's in a time series: some ten samples
then hold the information of one."""

LOG_RATE = 1.0
"""The mean logarithm of the rate of counts: about e² / 2 ≈ 3 counts on average, few enough for
their discreteness to matter."""

MAX_LOG_RATE = 6.0
"""The highest logarithm of a rate, where production saturates: about 400 counts."""

MAX_COUNT = 1_000
"""No count is larger: 30 standard deviations above the mean at the highest rate."""

MAX_QUANTILE = 1 - 1e-12
"""The highest quantile of a count: sums of probabilities cannot be told from 1 beyond it."""

UnitNoise: TypeAlias = Callable[[tuple[int, int], np.random.Generator], VariableSamples]


def _time_series(shape: tuple[int, int], rng: np.random.Generator) -> VariableSamples:
    """u_t = MEMORY · u_(t−1) + fresh noise, over the samples; variance 1 from the first one."""
    fresh = rng.standard_normal(shape) * np.sqrt(1 - MEMORY**2)
    fresh[0] /= np.sqrt(1 - MEMORY**2)
    return lfilter([1.0], [1.0, -MEMORY], fresh, axis=0)


NOISES: dict[str, UnitNoise] = {
    "gaussian": lambda shape, rng: rng.standard_normal(shape),
    "laplace": lambda shape, rng: rng.laplace(scale=np.sqrt(0.5), size=shape),
    "student-t": lambda shape, rng: (
        rng.standard_t(DEGREES_OF_FREEDOM, shape)
        * np.sqrt((DEGREES_OF_FREEDOM - 2) / DEGREES_OF_FREEDOM)
    ),
    "skewed": lambda shape, rng: rng.exponential(size=shape) - 1.0,
    "uniform": lambda shape, rng: rng.uniform(-np.sqrt(3), np.sqrt(3), shape),
    "time-series": _time_series,
}
"""Noise with mean 0 and variance 1, by name."""


def scaled_noise(name: str, scale: Float[np.ndarray, " variables"]) -> DrawNoise:
    """Noise of a family, one standard deviation per variable."""

    def draw(n_samples: int, rng: np.random.Generator) -> Context:
        return NOISES[name]((n_samples, len(scale)), rng) * scale

    return draw


class Emission(NamedTuple):
    """How a variable is made from its signal and its noise.

    Attributes:
        emit: from signal, noise and the signal's share R² of the variance to the variable.
        centre: the value at which a variable tells a factor nothing.
    """

    emit: Callable[
        [VariableSamples, VariableSamples, Float[np.ndarray, " variables"]], VariableSamples
    ]
    centre: float = 0.0


def _additive(
    signal: VariableSamples, noise: VariableSamples, _R2: Float[np.ndarray, " variables"]
) -> VariableSamples:
    return signal + noise


def _uneven(
    signal: VariableSamples, noise: VariableSamples, R2: Float[np.ndarray, " variables"]
) -> VariableSamples:
    """The noise of a child has 0.1 to many times its variance, in proportion to its signal²."""
    relative = signal**2 / np.where(R2 > 0, R2, 1.0)
    return signal + noise * np.where(R2 > 0, np.sqrt(0.1 + 0.9 * relative), 1.0)


def _binary(
    signal: VariableSamples, noise: VariableSamples, _R2: Float[np.ndarray, " variables"]
) -> VariableSamples:
    return (signal + noise > 0).astype(np.float64)


def _counts(
    signal: VariableSamples, noise: VariableSamples, R2: Float[np.ndarray, " variables"]
) -> VariableSamples:
    """log(1 + count), the count from a Poisson law at the quantile of the noise."""
    quantile = norm.cdf(noise / np.sqrt(1 - R2)).clip(max=MAX_QUANTILE)
    return np.log1p(
        _poisson_quantile(quantile, np.exp(np.minimum(LOG_RATE + signal, MAX_LOG_RATE)))
    )


def _poisson_quantile(quantile: VariableSamples, rate: VariableSamples) -> VariableSamples:
    """The smallest count whose cumulative probability is at least the quantile."""
    probability = np.exp(-rate)
    cumulative, count = probability.copy(), np.zeros_like(rate)
    for number in range(1, MAX_COUNT + 1):
        beyond = quantile > cumulative
        if not beyond.any():
            break
        count += beyond
        probability *= rate / number
        cumulative += probability
    return count


EMISSIONS: dict[str, Emission] = {
    "additive": Emission(_additive),
    "uneven": Emission(_uneven),
    "binary": Emission(_binary, centre=0.5),
    "counts": Emission(_counts, centre=LOG_RATE),
}
"""How signal and noise make a variable: their sum; a sum with a spread that depends on the
signal; whether the sum is positive; log(1 + Poisson count)."""
