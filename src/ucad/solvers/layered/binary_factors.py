"""Binary factors: a direction along which a layer has two values, found without labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ucad.errors import check_setting

__all__ = [
    "MAX_KURTOSIS",
    "BinaryFactor",
    "BinaryFactorSearch",
    "two_means",
    "two_valued_direction",
]

MAX_KURTOSIS = -1.5
"""A direction with a larger excess kurtosis is not binary: a fair coin has −2, a uniform number
−1.2."""

STEEPNESS = 4.0
"""Slope of the tanh at the middle between the two values, in units of half their distance: a value
that is off by a third of that distance is still 0.99."""

MAX_ROUNDS = 20
"""Rounds of two-means, and of the direction between two clusters. Both end when the clusters stay
the same; this only bounds what could otherwise go round in a cycle."""

RIDGE = 1e-6
"""Added to the covariance within clusters, as a share of its mean variance (no unit): units that
never change would make it singular, and float32 recordings carry no more than seven digits."""


@dataclass(frozen=True, kw_only=True)
class BinaryFactorSearch:
    """How the binary factor of a pair of layers is looked for.

    Attributes:
        n_factors: factors of a first bottleneck, whose axes are tried.
        hidden: tanh units of that bottleneck's decoder.
        epochs: passes over the samples while that bottleneck is trained.
        by_behaviour: whether that bottleneck is also fitted to the network's decisions, where
            there are readouts. A layer may have many two-valued directions (a token that is one
            of ten digits has one for every half of the digits); a narrow bottleneck that is fitted
            to decisions keeps those that matter to them.
    """

    n_factors: int = 8
    hidden: int = 64
    epochs: int = 8
    by_behaviour: bool = False

    def __post_init__(self) -> None:
        for name in ("n_factors", "hidden", "epochs"):
            check_setting(self, name, getattr(self, name) > 0, "above 0")


class BinaryFactor(NamedTuple):
    """s = tanh(direction · x + offset), close to −1 or 1 on nearly every sample."""

    direction: Float[np.ndarray, " units"]
    offset: float

    @classmethod
    def along(
        cls,
        x: Float[np.ndarray, "samples units"],
        direction: Float[np.ndarray, " units"],
    ) -> BinaryFactor:
        """Returns the factor whose middle lies between the two means of x along a direction.

        >>> x = np.array([[0.0], [0.1], [1.9], [2.0]])
        >>> np.round(BinaryFactor.along(x, np.ones(1))(x), 3).tolist()
        [-1.0, -0.999, 0.999, 1.0]
        """
        values = x @ direction
        high = two_means(values)
        low_mean, high_mean = values[~high].mean(), values[high].mean()
        slope = STEEPNESS / ((high_mean - low_mean) / 2)
        return cls(slope * direction, float(-slope * (high_mean + low_mean) / 2))

    def __call__(self, x: Float[np.ndarray, "samples units"]) -> Float[np.ndarray, " samples"]:
        """Returns s of every sample."""
        return np.asarray(np.tanh(x @ self.direction + self.offset))


def two_means(values: Float[np.ndarray, " samples"]) -> Bool[np.ndarray, " samples"]:
    """Returns which values belong to the upper of two clusters, by two-means from their mean.

    >>> two_means(np.array([0.0, 0.1, 5.0])).tolist()
    [False, False, True]
    """
    high = values > values.mean()
    for _ in range(MAX_ROUNDS if high.any() else 0):
        middle = (values[high].mean() + values[~high].mean()) / 2
        if ((values > middle) == high).all():
            break
        high = values > middle
    return np.asarray(high)


def two_valued_direction(
    x: Float[np.ndarray, "samples units"], start: Float[np.ndarray, " units"]
) -> Float[np.ndarray, " units"]:
    """Returns the direction of all units that best separates the two clusters seen along a start.

        v ← S⁻¹ (μ₁ − μ₀),   S the covariance within the clusters of v · x

    until the clusters stay the same: Fisher's discriminant, with the clusters of the direction
    itself in place of labels. An axis of a few factors still carries parts of other factors; among
    all units there is a direction with the smallest such part. O(samples · units²) per round.

    >>> rng = np.random.default_rng(0)
    >>> coin, other = rng.choice([-1.0, 1.0], 2000), rng.normal(size=2000)
    >>> v = two_valued_direction(np.c_[coin + other, other], np.array([1.0, -0.7]))
    >>> bool(abs(v[0] + v[1]) < 0.01 * abs(v[0]))
    True
    """
    direction, high = start, two_means(x @ start)
    # Clusters of equal values have no covariance at all, and any direction between them will do.
    least = np.finfo(float).eps * x.var(axis=0).mean()
    for _ in range(MAX_ROUNDS if high.any() else 0):
        means = x[high].mean(axis=0), x[~high].mean(axis=0)
        within = x - np.where(high[:, None], *means)
        S = within.T @ within / len(x)
        S += (RIDGE * np.trace(S) / len(S) + least) * np.eye(len(S))
        direction = np.linalg.solve(S, means[0] - means[1])
        values = x @ direction
        now = two_means(values)
        if (now == high).all():
            break
        high = now
    spread = float((x @ direction).std())
    return direction / spread if spread > 0 else start
