"""What is left of one factor when another is taken out of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.scm.families import Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import Effort, Regression, unit_variance

__all__ = ["own_parents", "remainder"]

N_BACKFITS = 3
"""Rounds in which the function and the multiple are fitted in turn."""

QUICK = Effort(n_steps=10, tolerance=1e-3, n_samples=3000)
"""Of each such fit: the next round goes on from it."""


def own_parents(
    parents: Bool[np.ndarray, " variables"],
    others: Bool[np.ndarray, " variables"],
    made: Bool[np.ndarray, " variables"],
) -> list[Int[np.ndarray, " some"]]:
    """The parents that are z_k's own where z_k may be h + c z_l, in up to two readings.

    A parent that z_l makes stands for z_l in one reading; in the other h depends on it as well.

    >>> parents, others, made = np.array([[1, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]]).astype(bool)
    >>> own_parents(parents, others, made)
    [array([2]), array([1, 2])]

    Args:
        parents: of z_k.
        others: the parents of z_l.
        made: the children of z_l.
    """
    readings = [parents & ~(others | made)]
    if (parents & made).any() and (parents & others).any():
        readings.append(parents & ~others)
    is_mixed = bool((parents & (others | made)).any())
    return [np.flatnonzero(one) for one in readings if is_mixed and one.any()]


def remainder(
    problem: Problem,
    mixed: Float[np.ndarray, " samples"],
    other: Float[np.ndarray, " samples"],
    own: Int[np.ndarray, " ..."],
    start: Function | None = None,
) -> Function:
    """The function h of the variables `own` that best makes mixed = h + c · other.

    The function and c are fitted in turn, so that what h cannot be is not noise to its fit; c is
    first what it is beside a linear h, which settles it at once where h is linear.
    """
    x = problem.data.x
    # What is fitted has the noise of the readings in it: nothing to take off.
    fitter = replace(problem, noise=None).fitter(problem.factor_family, QUICK)
    known = [] if start is None else [start.values(x)]
    design = np.column_stack([other, np.ones(len(other)), x[:, own], *known])
    share = float(np.linalg.lstsq(design, mixed, rcond=None)[0][0])
    fitted = start
    for _ in range(N_BACKFITS):
        regression = Regression(mixed - share * other, np.ones(len(mixed)))
        fitted = fitter.fit(x, own, regression, fitted)
        share = float((mixed - fitted.values(x)) @ other / max(float(other @ other), 1e-12))
    assert fitted is not None
    return unit_variance(fitted, x)
