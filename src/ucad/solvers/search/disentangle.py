"""Taking one factor out of another that contains it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from ucad.data import InterventionalData
from ucad.graph import boolean_product, topological_levels
from ucad.solvers.search.functions import Function, Regression, fit_function, unit_variance
from ucad.solvers.search.pruning import prune
from ucad.solvers.search.refinement import Model, fit_variables, polish
from ucad.solvers.search.settings import FitSettings

__all__ = ["disentangle", "remainder"]

N_BACKFITS = 3
N_STEPS = 10


def disentangle(data: InterventionalData, model: Model, settings: FitSettings) -> Model:
    """Takes z_l out of z_k where l has no parents but those of k, if the whole model gains by it.

    An anchor that really has two factors gives z_k + c z_l in place of z_k, and the children of k
    make up for it. Here the children of k are given to l as well, all is fitted and pruned, and
    the result is kept if its score is higher.
    """
    for k, other in _nested(model):
        own = np.flatnonzero(model.Q[:, k] & ~model.Q[:, other])
        R = model.R.copy()
        R[:, other] |= R[:, k] & ~model.Q[:, other]
        Q = model.Q.copy()
        Q[:, k] &= ~Q[:, other]
        if topological_levels(boolean_product(R.T, Q)) is None:
            continue
        z = model.state
        factors = list(model.factors)
        factors[k] = remainder(data, z[:, k], z[:, other], own, settings)
        trial = prune(data, fit_variables(data, factors, R, settings), settings)
        trial = polish(data, trial, settings, 1, only=[k, other])
        if trial.score > model.score:
            model = trial
    return model


def remainder(
    data: InterventionalData,
    mixed: Float[np.ndarray, " samples"],
    other: Float[np.ndarray, " samples"],
    own: Int[np.ndarray, " ..."],
    settings: FitSettings,
) -> Function:
    """The function h of the variables `own` that best makes mixed = h + c · other.

    The function and c are fitted in turn, so that what h cannot be is not noise to its fit.
    """
    fitted: Function | None = None
    rest = mixed
    rough = replace(settings.factor_fit, n_steps=N_STEPS)
    for _ in range(N_BACKFITS):
        share = float(rest @ other / (other @ other))
        regression = Regression(mixed - share * other, np.ones(len(mixed)))
        fitted = fit_function(data.x, own, regression, rough, start=fitted)
        rest = mixed - fitted.values(data.x)
    assert fitted is not None
    return unit_variance(fitted, data.x)


def _nested(model: Model) -> Iterator[tuple[int, int]]:
    """Pairs (k, l) with all parents of l among those of k, and more of k's own."""
    Q = model.Q.astype(np.int64)
    shared, size = Q.T @ Q, Q.sum(axis=0)
    for k, other in np.argwhere((shared == size[None, :]) & (size[:, None] > size[None, :])):
        if size[other]:
            yield int(k), int(other)
