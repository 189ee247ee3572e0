"""Sparse systems: variables most of whose values are zero, and factors that read those values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from ucad._types import FactorSamples, VariableSamples
from ucad.simulate.worlds.functions import WeightedFunction
from ucad.simulate.worlds.linear import LinearModel
from ucad.simulate.worlds.system import Context, System

__all__ = ["SPARSE", "sparse_system"]

N_PILOT = 4_000
"""Samples from which means, spreads and shares of zeros are set: a share is then known to 1 %."""

DEPTH_SPREAD = 0.4
"""The standard deviation of the logarithm of the depth, over samples: a factor of 2.2 between the
16th and the 84th percentile, as in a droplet-based experiment."""

DISPERSION = 0.2
"""The part of a count's variance beyond Poisson's, in units of mean²."""

MAX_LOG_RATE = 6.0
"""The highest logarithm of a rate, where production saturates: about 400 counts."""

MAX_COUNT = 2_000
"""No count is larger: some ten spreads above the mean at the highest rate."""

MAX_QUANTILE = 1 - 1e-12
"""The highest quantile of a count: sums of probabilities cannot be told from 1 beyond it."""

N_HALVINGS = 40
"""Of the interval in which a level lies: to rounding."""

Level: TypeAlias = Float[np.ndarray, " variables"]
Moments: TypeAlias = tuple[np.ndarray, np.ndarray]


class _Emission(NamedTuple):
    """How a sparse variable is made of its signal, its noise and the depth of the sample.

    Attributes:
        emit: from signal + level, noise, its standard deviation and the depth to the variable.
        share_of_zeros: the probability of a zero, from signal + level, spread of noise and depth.
    """

    emit: Callable[[VariableSamples, VariableSamples, Level, np.ndarray], VariableSamples]
    share_of_zeros: Callable[[VariableSamples, Level, np.ndarray], VariableSamples]


class _Standards(NamedTuple):
    """Levels, and the means and spreads of variables, factors and signals."""

    level: Level
    of_x: Moments
    of_z: Moments
    of_signal: Moments


@dataclass(frozen=True, eq=False)
class _Equations:
    """F_Z, F_X and how a variable is made, before anything is standardised."""

    F_Z: WeightedFunction
    F_X: WeightedFunction
    emission: _Emission
    zeros: float
    spread: Level

    @property
    def strength(self) -> Level:
        """The standard deviation of every signal."""
        return np.sqrt(1 - self.spread**2)

    def emitted(self, signal: VariableSamples, level: Level, u: Context) -> VariableSamples:
        n = len(self.spread)
        depth = np.exp(u[:, [n]])
        return self.emission.emit(signal * self.strength + level, u[:, :n], self.spread, depth)

    def standards(self, u: Context, n_levels: int) -> _Standards:
        """One sweep per level: what a level reads no longer changes once those before are set."""
        depth = np.exp(u[:, [len(self.spread)]])
        signal = np.zeros((len(u), len(self.spread)))
        for _ in range(n_levels):
            level = _level(
                lambda at: self.emission.share_of_zeros(at, self.spread, depth),
                signal * self.strength,
                self.zeros,
            )
            of_x = _moments(x := self.emitted(signal, level, u))
            of_z = _moments(raw := self.F_Z(_standard(x, of_x)))
            of_signal = _moments(raw := self.F_X(_standard(raw, of_z)))
            signal = _standard(raw, of_signal)
        return _Standards(level, of_x, of_z, of_signal)


def sparse_system(
    model: LinearModel,
    functions: tuple[str, str],
    form: tuple[str, float],
    rng: np.random.Generator,
) -> System:
    """The system on the graph and weights of a linear model whose variables are mostly zero.

    z = F_Z((x − mean) / sd) at variance 1, and x_j = emit(level_j + √R²_j · F_X(z)_j, u_j, depth)
    with the level that gives every variable the share of zeros wanted, clamps aside.

    Args:
        model: the graph, the weights and R².
        functions: F_Z and F_X by name.
        form: one of `SPARSE`, and the share of zeros.
        rng: makes the pilot samples.
    """
    equations = _equations(model, functions, form)
    n = len(model.W_X)
    n_levels = int(model.graph.factor_level.max(initial=0)) + 2
    level, of_x, of_z, of_signal = equations.standards(_draw(n, N_PILOT, rng), n_levels)

    def factors(x: VariableSamples, _u: Context) -> FactorSamples:
        return _standard(equations.F_Z(_standard(x, of_x)), of_z)

    def variables(_x: VariableSamples, z: FactorSamples, u: Context) -> VariableSamples:
        return equations.emitted(_standard(equations.F_X(z), of_signal), level, u)

    draw = partial(_draw, n)
    if form[0] != "sparse-counts":
        return System(factors, variables, draw)
    return System(factors, variables, draw, observed={"log_depth": n}, as_set=_as_set)


def _equations(
    model: LinearModel, functions: tuple[str, str], form: tuple[str, float]
) -> _Equations:
    R2 = 1 - model.noise_scale**2
    unit = np.sqrt(np.where(R2 > 0, R2, 1.0))
    return _Equations(
        WeightedFunction(functions[0], model.W_Z),
        WeightedFunction(functions[1], model.W_X / unit[:, None]),
        SPARSE[form[0]],
        form[1],
        model.noise_scale,
    )


def _draw(n_variables: int, n_samples: int, rng: np.random.Generator) -> Context:
    """Noise of variance 1, and the logarithm of the depth in the column after it."""
    log_depth = DEPTH_SPREAD * rng.standard_normal((n_samples, 1)) - DEPTH_SPREAD**2 / 2
    return np.hstack([rng.standard_normal((n_samples, n_variables)), log_depth])


def _as_set(offset: VariableSamples, u: Context) -> VariableSamples:
    """A count that is set is read at the depth of its sample, as others are."""
    return np.log1p(np.expm1(offset) / np.exp(u[:, [offset.shape[1]]]))


def _moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    spread = values.std(axis=0)
    return values.mean(axis=0), np.where(spread > 0, spread, 1.0)


def _standard(values: np.ndarray, moments: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return (values - moments[0]) / moments[1]


def _level(
    share_of_zeros: Callable[[VariableSamples], VariableSamples],
    signal: VariableSamples,
    zeros: float,
) -> Level:
    """The level of every variable at which the share of its zeros is as wanted, by halving."""
    low, high = np.full(signal.shape[1], -15.0), np.full(signal.shape[1], 15.0)
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2
        share = share_of_zeros(signal + middle).mean(axis=0)
        low, high = np.where(share > zeros, middle, low), np.where(share > zeros, high, middle)
    return (low + high) / 2


def _counted(
    signal: VariableSamples, noise: VariableSamples, _spread: Level, depth: np.ndarray
) -> VariableSamples:
    """log(1 + count / depth), the count at the quantile Φ(noise) of a negative binomial law."""
    mean = depth * np.exp(np.minimum(signal, MAX_LOG_RATE))
    quantile = norm.cdf(noise).clip(max=MAX_QUANTILE)
    return np.log1p(_count_at(quantile, mean) / depth)


def _count_at(quantile: VariableSamples, mean: VariableSamples) -> VariableSamples:
    """The smallest count of cumulative probability at least the quantile.

    p₀ = (1 + φ μ)^(−1/φ) and p_k = p_(k−1) · (k − 1 + 1/φ) / k · μ / (μ + 1/φ).
    """
    size = 1 / DISPERSION
    ratio = mean / (mean + size)
    probability = (1 + DISPERSION * mean) ** -size
    cumulative, count = probability.copy(), np.zeros_like(mean)
    for number in range(1, MAX_COUNT + 1):
        beyond = quantile > cumulative
        if not beyond.any():
            break
        count += beyond
        probability = probability * ((number - 1 + size) / number) * ratio
        cumulative += probability
    return count


def _no_count(signal: VariableSamples, _spread: Level, depth: np.ndarray) -> VariableSamples:
    """p₀ of the same law."""
    mean = depth * np.exp(np.minimum(signal, MAX_LOG_RATE))
    nothing: VariableSamples = (1 + DISPERSION * mean) ** (-1 / DISPERSION)
    return nothing


def _cut_off(
    signal: VariableSamples, noise: VariableSamples, spread: Level, _depth: np.ndarray
) -> VariableSamples:
    """What is above zero, as a concentration above the limit of detection."""
    return np.maximum(signal + spread * noise, 0.0)


SPARSE: dict[str, _Emission] = {
    "sparse-counts": _Emission(_counted, _no_count),
    "cut-off": _Emission(_cut_off, lambda signal, spread, _depth: norm.sf(signal / spread)),
}
"""How a sparse variable is made: log(1 + count / depth); the part of a value above zero."""
