"""Which factor of one fit is which of another: by their values on the same samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from ucad._types import FactorSamples, VariableSamples
from ucad.scm import FactorSCM

__all__ = [
    "MAX_COMMON_ROWS",
    "MIN_LEVEL",
    "Matching",
    "chance_values",
    "correlations",
    "factor_values",
    "level_for",
    "match",
]

MIN_LEVEL = float(np.sqrt(0.5))
"""The |correlation| below which two factors are never called the same: each must explain more than
half of the other's variance, and of several uncorrelated factors at most one can."""

CHANCE = 0.05
"""The probability that any two factors of independent samples exceed the level."""

N_RELABELLINGS = 100
"""Random relabellings of the variables behind a chance level: its 95 % quantile then rests on five
draws per factor and more."""

MAX_COMMON_ROWS = 2000
"""Samples that factors are compared on: a correlation is known to .02 then."""

Values = Float[np.ndarray, "samples _"]
"""Factors of the same samples; two fits may have different numbers of them."""


class Matching(NamedTuple):
    """The partners of a fit's factors in another fit.

    Attributes:
        partner: for every factor of the first fit its partner in the second, or None.
        correlation: their signed correlation, 0 without a partner.
    """

    partner: tuple[int | None, ...]
    correlation: tuple[float, ...]

    @property
    def n_matched(self) -> int:
        """How many factors have a partner."""
        return sum(one is not None for one in self.partner)


def match(first: Values, second: Values, level: float = MIN_LEVEL) -> Matching:
    """One-to-one partners of the largest total Σ (|r| − level), none below the level.

    >>> z = np.random.default_rng(0).standard_normal((200, 3))
    >>> match(z, -z[:, [2, 0]]).partner
    (1, None, 0)
    """
    from scipy.optimize import linear_sum_assignment

    r = correlations(first, second)
    gain = np.maximum(np.abs(r) - level, 0.0)
    rows, columns = linear_sum_assignment(gain, maximize=True)
    found = {int(k): int(at) for k, at in zip(rows, columns, strict=True) if gain[k, at] > 0}
    partner = tuple(found.get(k) for k in range(first.shape[1]))
    return Matching(
        partner, tuple(0.0 if at is None else float(r[k, at]) for k, at in enumerate(partner))
    )


def level_for(n_samples: int, n_first: int, n_second: int) -> float:
    """The |correlation| that partners must exceed: half the variance, and chance.

        max(√½, tanh(Φ̄⁻¹(.05 / 4pairs) / √(N − 3))),   pairs = n_first · n_second

    The second is Fisher's transformation with Bonferroni's correction for two sides and two
    coefficients; it is below the first from about twenty samples on.

    >>> round(level_for(2000, 6, 6), 3), round(level_for(10, 6, 6), 3)
    (0.707, 0.857)
    """
    if n_samples <= 4 or not n_first * n_second:
        return 1.0
    z = -float(ndtri(CHANCE / (4 * n_first * n_second)))
    return max(MIN_LEVEL, float(np.tanh(z / np.sqrt(n_samples - 3))))


def correlations(first: Values, second: Values) -> Float[np.ndarray, "_ _"]:
    """Signed correlations, Pearson's or Spearman's, whichever is larger; 0 for a constant.

    So neither an affine nor a monotone map of a factor makes it another one.
    """
    from scipy.stats import rankdata

    linear = _unit(first).T @ _unit(second)
    ranked = [rankdata(z, axis=0) if z.size else z for z in (first, second)]
    monotone = _unit(ranked[0]).T @ _unit(ranked[1])
    return np.asarray(np.where(np.abs(monotone) > np.abs(linear), monotone, linear))


def factor_values(scm: FactorSCM, x: VariableSamples) -> FactorSamples:
    """τ(x), with 0 for what is not finite."""
    values = scm.state_map(x).detach().cpu().numpy().astype(np.float64)
    return np.asarray(np.nan_to_num(values, posinf=0.0, neginf=0.0))


def chance_values(
    first: FactorSCM, second: FactorSCM, x: VariableSamples, seed: int = 0
) -> Float[np.ndarray, " values"]:
    """|Correlations| of matched factors if the second model read other variables.

    The second model's variables are relabelled at random, each in the spread of the one whose
    place it takes: it keeps its form and the data keep their correlations, and it has nothing to
    do with the first one any more. One value per pair of factors that is matched at any level.
    """
    rng = np.random.default_rng(seed)
    mean, scale = x.mean(axis=0), x.std(axis=0)
    unit = (x - mean) / np.where(scale > 0, scale, 1.0)
    z, values = factor_values(first, x), []
    for _ in range(N_RELABELLINGS):
        other = factor_values(second, mean + scale * unit[:, rng.permutation(x.shape[1])])
        r = np.abs(match(z, other, level=0.0).correlation)
        values.append(r[r > 0])
    return np.concatenate(values)


def _unit(z: Values) -> Values:
    """Centred columns of length 1; a constant one is 0."""
    largest = np.abs(z).max(axis=0, initial=0.0)
    z = z / np.where(largest > 0, largest, 1.0)
    centred = z - z.mean(axis=0)
    length = np.linalg.norm(centred, axis=0)
    varies = length > 1e-9 * np.sqrt(max(len(z), 1))
    return np.asarray(np.where(varies, centred / np.where(varies, length, 1.0), 0.0))
