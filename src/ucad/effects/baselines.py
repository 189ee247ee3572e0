"""Simple predictions of what a new intervention does, which a model must beat to be of use."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from ucad.data import InterventionalData
from ucad.effects.measured import MeasuredChanges

__all__ = ["Regressions", "mean_of_others", "no_change"]

RIDGE = 1e-6
"""Added to the variance of a target, in units of it: a target that does not vary predicts 0."""


def no_change(changes: MeasuredChanges) -> Float[np.ndarray, " variables"]:
    """Nothing happens."""
    return np.zeros(changes.change.shape[1])


def mean_of_others(changes: MeasuredChanges, row: int) -> Float[np.ndarray, " variables"]:
    """What happened on average in the other regimes; nothing if there are none."""
    others = changes.change[changes.others(row)]
    return others.mean(axis=0) if len(others) else no_change(changes)


class Regressions:
    """Slopes of all variables on the targets of a regime, over the samples of other regimes.

    Second moments are added up once for all samples; those of the regimes that must not be used
    are taken off: O(samples · variables) per target, then O(samples of a regime · variables).
    """

    def __init__(self, data: InterventionalData, changes: MeasuredChanges) -> None:
        self._data, self._changes = data, changes
        self._targets = np.flatnonzero(changes.targets.any(axis=0))
        self._place = {int(j): at for at, j in enumerate(self._targets)}
        self._total = self._sums(np.arange(data.n_samples))

    def change(self, row: int, *left_out: int) -> Float[np.ndarray, " variables"] | None:
        """The slopes on the regime's targets times their change, which is taken as measured.

        The change of the targets is what was done. None if no target is among the variables.

        Args:
            row: the regime.
            left_out: further regimes whose samples are not used.
        """
        targets = np.flatnonzero(self._changes.targets[row])
        if not len(targets):
            return None
        moment, total, count = self._total
        for one in {row, *left_out}:
            rows = np.flatnonzero(self._data.regime == self._changes.regimes[one])
            parts = self._sums(rows)
            moment, total, count = moment - parts[0], total - parts[1], count - parts[2]
        mean = total / max(count, 1)
        covariance = moment / max(count, 1) - np.outer(mean[self._targets], mean)
        covariance = covariance[[self._place[int(j)] for j in targets]]
        slope = np.linalg.solve(covariance[:, targets] + RIDGE * np.eye(len(targets)), covariance)
        return np.asarray(self._changes.change[row, targets] @ slope)

    def _sums(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        x = (self._data.x[rows] - self._changes.mean) / self._changes.sd
        return x[:, self._targets].T @ x, x.sum(axis=0), len(rows)
