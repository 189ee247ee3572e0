"""Regimes that move something although nothing measured was acted on in them."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from ucad.claims.adequacy import MAX_P
from ucad.claims.samples import TestSamples

__all__ = ["moving_without_targets"]

MIN_ROWS = 20
"""Samples of a regime, and of all others without targets, for their means to be compared."""


def moving_without_targets(samples: TestSamples) -> list[str]:
    """The regimes without a measured target whose means differ from those of the others.

    Of regimes in which nothing was acted on, the largest is the baseline; any other must have its
    means: |Δ mean| / √(s₁²/n₁ + s₀²/n₀) above what chance exceeds with .001 over all variables and
    regimes. Of what acts in such a regime nothing was measured. O(samples · variables).
    """
    count = np.bincount(samples.regime, minlength=len(samples.regime_names))
    acted = np.bincount(samples.regime, samples.is_intervened.any(axis=1), minlength=len(count))
    silent = np.flatnonzero((acted == 0) & (count >= MIN_ROWS))
    if len(silent) < 2:
        return []
    base = samples.x[samples.regime == silent[np.argmax(count[silent])]]
    others = silent[silent != silent[np.argmax(count[silent])]]
    bound = -float(ndtri(MAX_P / 2 / (samples.n_variables * len(others))))
    found = []
    for label in others:
        here = samples.x[samples.regime == label]
        error = np.sqrt(here.var(axis=0) / len(here) + base.var(axis=0) / len(base))
        step = np.abs(here.mean(axis=0) - base.mean(axis=0))
        if (step > bound * np.maximum(error, 1e-12)).any():
            found.append(samples.regime_names[label])
    return found
