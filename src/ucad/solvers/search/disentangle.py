"""Taking one factor out of another that contains it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from ucad.data import InterventionalData
from ucad.graph import boolean_product, topological_levels
from ucad.solvers.search.causes import Causes
from ucad.solvers.search.functions import Function, Regression, fit_function, unit_variance
from ucad.solvers.search.pruning import prune
from ucad.solvers.search.refinement import Model, close, fit_variables, polish
from ucad.solvers.search.settings import FitSettings
from ucad.solvers.search.unfold import unfold

__all__ = ["disentangle", "remainder"]

N_BACKFITS = 3
N_STEPS = 10
MOST_LEFT = 0.1
MOST_BACK = 2


def disentangle(
    data: InterventionalData,
    model: Model,
    causes: Causes,
    settings: FitSettings,
    final: FitSettings,
    only: Collection[int],
) -> Model:
    """Takes z_l out of z_k where they share parents, if the whole model gains by it.

    An anchor that really has two factors gives z_k + c z_l in place of z_k, and the children of k
    make up for it; its parents are those of both, or children of l in place of l's parents. Here
    k keeps what it needs besides z_l, its children are given to l as well, all is fitted and
    pruned, and the result is kept if its score is higher. One of k and l is among `only`. Fits
    are rough first only where they take long: without noise a rough one is far from the end.
    """
    rough = settings if settings.variable_fit.hidden else final
    for k, other in _entangled(model):
        if k in only or other in only:
            best = model
            for function in _without(data, model, k, other, rough):
                trial = _taken_out(data, model, (k, other), function, rough, final)
                if trial is None or not causes.allow(trial.Q, trial.R):
                    continue
                if trial.score > best.score:
                    best = trial
            model = best
    return model


def _taken_out(
    data: InterventionalData,
    model: Model,
    pair: tuple[int, int],
    function: Function,
    settings: FitSettings,
    final: FitSettings,
) -> Model | None:
    """The model with a function in place of z_k, whose children may have z_l too."""
    k, other = pair
    Q, R = model.Q.copy(), model.R.copy()
    Q[:, k] = np.isin(np.arange(len(Q)), function.parents)
    R[:, other] |= R[:, k] & ~Q[:, other]
    if topological_levels(boolean_product(R.T, Q)) is None:
        return None
    factors = list(model.factors)
    factors[k] = function
    children = np.flatnonzero(R[:, k] | R[:, other])
    trial = fit_variables(data, factors, R, settings, start=model, only=children)
    trial = prune(data, trial, settings, only=children)
    if settings.variable_fit.hidden:
        if not close(trial, model, settings):
            return None
        trial = unfold(data, trial, settings, final, only=[k])
    return prune(data, polish(data, trial, final, 1, only=pair), final)


def _without(
    data: InterventionalData, model: Model, k: int, other: int, settings: FitSettings
) -> Iterator[Function]:
    """What z_k may be besides a multiple of z_l; nothing if z_k is not such a sum.

    Of the parents that have to do with z_l, those come back without which much is left of z_k;
    where factors are linear also parents of l that z_k does not have: the sum may cancel them.
    """
    mixed, taken = model.state[:, k], model.state[:, other]
    shared = model.Q[:, k] & (model.Q[:, other] | model.R[:, other])
    own = np.flatnonzero(model.Q[:, k] & ~shared)
    if not settings.factor_fit.hidden:
        shared = shared | model.Q[:, other]
    shared = np.flatnonzero(shared)
    function = remainder(data, mixed, taken, own, settings)
    left = _left(data, mixed, taken, function)
    for _ in range(min(MOST_BACK, len(shared) - 1)):
        if left < settings.floor:
            break
        wider = [
            remainder(data, mixed, taken, np.union1d(own, [i]), settings, start=function)
            for i in shared
        ]
        each = np.array([_left(data, mixed, taken, trial) for trial in wider])
        if (each < settings.floor).any():
            yield from (wider[at] for at in np.flatnonzero(each < settings.floor))
            return
        best = int(np.argmin(each))
        odds = np.log((left + settings.floor) / (each[best] + settings.floor))
        if data.n_samples / 2 * odds < settings.penalty:
            break
        function, left = wider[best], float(each[best])
        own, shared = function.parents, np.delete(shared, best)
    if left < MOST_LEFT:
        yield function


def _left(
    data: InterventionalData,
    mixed: Float[np.ndarray, " samples"],
    other: Float[np.ndarray, " samples"],
    function: Function,
) -> float:
    """The share of z_k that no sum of a function and z_l explains."""
    design = np.column_stack([function.values(data.x), other, np.ones(len(other))])
    rest = mixed - design @ np.linalg.lstsq(design, mixed, rcond=None)[0]
    return float(rest.var() / mixed.var())


def remainder(
    data: InterventionalData,
    mixed: Float[np.ndarray, " samples"],
    other: Float[np.ndarray, " samples"],
    own: Int[np.ndarray, " ..."],
    settings: FitSettings,
    start: Function | None = None,
) -> Function:
    """The function h of the variables `own` that best makes mixed = h + c · other.

    The function and c are fitted in turn, so that what h cannot be is not noise to its fit; c is
    first what it is beside a linear h, which settles it at once where h is linear.
    """
    rough = replace(settings.factor_fit, n_steps=N_STEPS)
    known = [] if start is None else [start.values(data.x)]
    design = np.column_stack([other, np.ones(len(other)), data.x[:, own], *known])
    share = float(np.linalg.lstsq(design, mixed, rcond=None)[0][0])
    fitted = start
    for _ in range(N_BACKFITS):
        regression = Regression(mixed - share * other, np.ones(len(mixed)))
        fitted = fit_function(data.x, own, regression, rough, start=fitted)
        share = float((mixed - fitted.values(data.x)) @ other / (other @ other))
    assert fitted is not None
    return unit_variance(fitted, data.x)


def _entangled(model: Model) -> Iterator[tuple[int, int]]:
    """Pairs (k, l) with a parent of k that is a parent or a child of l, and one that is not."""
    Q, R = model.Q, model.R
    for k, other in np.argwhere(boolean_product(Q.T, Q | R)):
        shared = Q[:, k] & (Q[:, other] | R[:, other])
        if k != other and Q[:, other].any() and (Q[:, k] & ~shared).any():
            yield int(k), int(other)
