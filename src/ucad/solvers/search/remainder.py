"""What is left of one factor when another is taken out of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from ucad.scm.families import Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import Effort, Regression, unit_variance

__all__ = ["remainder"]

N_BACKFITS = 3
"""Rounds in which the function and the multiple are fitted in turn."""

QUICK = Effort(n_steps=10, tolerance=1e-3, n_samples=3000)
"""Of each such fit: the next round goes on from it."""


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
