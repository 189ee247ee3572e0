"""Whether a model fitted to a part of a file's samples holds for the samples that were left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ucad.data import InterventionalData
from ucad.data.duplicates import merged_as
from ucad.scm import FactorSCM

__all__ = ["RestComparison", "compared_with_rest"]

MAX_Z = 4.0
"""Standard errors by which the rest may be less likely: one honest part in 30,000 misses it."""

MIN_NATS = 0.01
"""Nats per value below which a difference is of no importance, however sure it is."""


class RestComparison(NamedTuple):
    """What samples that were not read say of a model.

    Attributes:
        told: one sentence.
        is_worse: whether the model does not hold for them.
    """

    told: str
    is_worse: bool


def compared_with_rest(
    scm: FactorSCM,
    data: InterventionalData,
    held_out: InterventionalData,
    seen: Callable[[InterventionalData], InterventionalData],
) -> RestComparison | None:
    """Compares the log-likelihood of the rest with that of held-out samples of the same regimes.

    d = Σ_r N_r (mean_r of the rest − mean_r of held-out ones) / Σ_r N_r, in one pass.

    Args:
        scm: the model, in the units of the data.
        data: what was read, with its rest; without one there is nothing to compare.
        held_out: samples of `data` that did not help to fit, as claims see them.
        seen: takes samples to what claims see of them.
    """
    if data.rest is None:
        return None
    names, n_regimes = scm.graph.variable_names, data.n_regimes
    parts = (seen(merged_as(part.data, names)) for part in data.rest.parts())
    rest, known = _Sums.of(scm, parts, n_regimes), _Sums.of(scm, [held_out], n_regimes)
    both = (rest.n > 1) & (known.n > 1)
    weight = np.where(both, rest.n, 0.0) / max(rest.n[both].sum(), 1.0)
    gap = float(weight @ (rest.mean - known.mean))
    error = math.sqrt(float(weight**2 @ (rest.variance_of_mean + known.variance_of_mean)))
    is_worse = gap < -max(MAX_Z * error, MIN_NATS)
    verdict = f"less likely by {-gap / max(error, 1e-300):.1f} SE" if is_worse else "no worse"
    return RestComparison(
        f"Fitted to {data.n_samples} of {data.n_samples + data.rest.n_samples} samples, a random "
        f"part of every regime; on {int(rest.n.sum())} others the log-likelihood is "
        f"{weight @ rest.mean:.4f} nats per value, on held-out ones {weight @ known.mean:.4f}: "
        f"{verdict}.",
        is_worse,
    )


@dataclass
class _Sums:
    """Counts, sums and sums of squares of the log-likelihood per value, by regime."""

    n: Float[np.ndarray, " regimes"]
    total: Float[np.ndarray, " regimes"]
    square: Float[np.ndarray, " regimes"]

    @classmethod
    def of(cls, scm: FactorSCM, parts: Iterable[InterventionalData], n_regimes: int) -> _Sums:
        sums = cls(*(np.zeros(n_regimes) for _ in range(3)))
        for part in parts:
            free = np.maximum((~part.is_left_out).sum(axis=1), 1)
            value = scm.log_likelihood(part.x, part.is_left_out).numpy() / free
            sums.n += np.bincount(part.regime, minlength=n_regimes)
            sums.total += np.bincount(part.regime, value, minlength=n_regimes)
            sums.square += np.bincount(part.regime, value**2, minlength=n_regimes)
        return sums

    @property
    def mean(self) -> Float[np.ndarray, " regimes"]:
        return self.total / np.maximum(self.n, 1)

    @property
    def variance_of_mean(self) -> Float[np.ndarray, " regimes"]:
        spread = np.maximum(self.square / np.maximum(self.n, 1) - self.mean**2, 0.0)
        return np.asarray(spread / np.maximum(self.n - 1, 1))
