"""Making one factor of two that stand for its parts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from jaxtyping import Float

from ucad.data import InterventionalData
from ucad.graph import boolean_product, topological_levels
from ucad.solvers.search.causes import Causes
from ucad.solvers.search.functions import (
    NOTHING,
    Function,
    Regression,
    fit_function,
    unit_variance,
)
from ucad.solvers.search.pruning import prune
from ucad.solvers.search.reanchor import most_missing, occupy
from ucad.solvers.search.refinement import Model, close, fit_variables, polish
from ucad.solvers.search.settings import FitSettings

__all__ = ["common_direction", "merge"]

MOST_SIDEWAYS = 0.2
N_CANDIDATES = 2


def merge(  # noqa: PLR0913  (a move on a whole model, like the others, that also needs candidates)
    data: InterventionalData,
    model: Model,
    pool: Sequence[Function],
    causes: Causes,
    settings: FitSettings,
    final: FitSettings,
    only: Collection[int],
) -> Model:
    """Makes one factor of z_k and z_l where their children only need a z_k + b z_l.

    A factor of many parents can be found in two parts, some parents in one and the others in the
    other, and a second factor is then missing somewhere else. The free place goes to the candidate
    that explains most of what is left. Kept if the score is higher. One of k and l is among `only`.
    """
    for k, other in _alike(model):
        if k not in only and other not in only:
            continue
        joined = _joined(data, model, k, other, settings)
        if joined is None or not close(joined, model, settings):
            continue
        joined = prune(data, polish(data, joined, final, 2, only=[k]), final)
        trials = [joined]
        for function, gains in most_missing(data, joined, other, pool, settings, N_CANDIDATES):
            trial = occupy(data, joined, other, function, gains, settings)
            trials += [] if trial is None else [trial]
        allowed = [trial for trial in trials if causes.allow(trial.Q, trial.R)]
        model = max([model, *allowed], key=lambda one: one.score)
    return model


def _alike(model: Model) -> Iterator[tuple[int, int]]:
    """Pairs of factors with at least half of their children in common."""
    R = model.R
    for k, other in np.argwhere(np.triu(boolean_product(R.T, R), 1)):
        both, either = R[:, k] & R[:, other], R[:, k] | R[:, other]
        if 2 * both.sum() >= either.sum():
            yield int(k), int(other)


def _joined(
    data: InterventionalData, model: Model, k: int, other: int, settings: FitSettings
) -> Model | None:
    """The model with a z_k + b z_l in place of z_k and nothing in place of z_l."""
    direction = common_direction(data, model, k, other)
    if direction is None:
        return None
    factors, R = list(model.factors), model.R.copy()
    R[:, k] |= R[:, other]
    R[:, other] = False
    parents = np.union1d(factors[k].parents, factors[other].parents)
    Q = model.Q.copy()
    Q[:, k] |= Q[:, other]
    Q[:, other] = False
    if (Q & R).any() or topological_levels(boolean_product(R.T, Q)) is None:
        return None
    target = model.state[:, [k, other]] @ direction
    regression = Regression(target, np.ones(len(target)))
    function = fit_function(data.x, parents, regression, settings.factor_fit)
    factors[k], factors[other] = unit_variance(function, data.x), NOTHING
    children = np.flatnonzero(R[:, k])
    return fit_variables(data, factors, R, settings, start=model, only=children)


def common_direction(
    data: InterventionalData, model: Model, k: int, other: int
) -> Float[np.ndarray, " two"] | None:
    """The weights (a, b) of which all gradients in (z_k, z_l) are multiples; None if they are not.

    If x_j = g_j(a z_k + b z_l, …), then Σ_j E[∇ ∇ᵀ] / mse_j has rank one.
    """
    spread = np.zeros((2, 2))
    for j in np.flatnonzero(model.R[:, k] & model.R[:, other]):
        function = model.variables[j]
        both = [int(np.flatnonzero(function.parents == one)[0]) for one in (k, other)]
        gradient = function.gradient(model.state)[~data.is_intervened[:, j]][:, both]
        spread += gradient.T @ gradient / len(gradient) / max(model.errors[j], 1e-12)
    values, vectors = np.linalg.eigh(spread)
    if values[0] > MOST_SIDEWAYS * values[1]:
        return None
    leading: Float[np.ndarray, " two"] = vectors[:, 1]
    return leading
