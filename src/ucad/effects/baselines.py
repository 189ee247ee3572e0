"""Simple predictions of what a new intervention does, which a model must beat to be of use."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from ucad.data import InterventionalData
from ucad.effects.measured import MeasuredChanges

__all__ = ["linear_change", "mean_of_others", "no_change"]

RIDGE = 1e-6
"""Added to the variance of a target, in units of it: a target that does not vary predicts 0."""


def no_change(changes: MeasuredChanges) -> Float[np.ndarray, " variables"]:
    """Nothing happens."""
    return np.zeros(changes.change.shape[1])


def mean_of_others(changes: MeasuredChanges, row: int) -> Float[np.ndarray, " variables"]:
    """What happened on average in the other regimes; nothing if there are none."""
    others = changes.change[changes.others(row)]
    return others.mean(axis=0) if len(others) else no_change(changes)


def linear_change(
    data: InterventionalData, changes: MeasuredChanges, row: int
) -> Float[np.ndarray, " variables"] | None:
    """The slope of every variable on the targets over all other samples, times their change.

    The change of the targets is taken as measured: it is what was done. None if the regime's
    target is not among the variables.
    """
    targets = np.flatnonzero(changes.targets[row])
    if not len(targets):
        return None
    x = (data.x[data.regime != changes.regimes[row]] - changes.mean) / changes.sd
    x = x - x.mean(axis=0)
    moment = x[:, targets].T @ x / len(x)
    own = moment[:, targets]
    slope = np.linalg.solve(own + RIDGE * np.eye(len(targets)), moment)
    return np.asarray(changes.change[row, targets] @ slope)
