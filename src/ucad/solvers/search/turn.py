"""Turning round a variable that stands before a factor instead of after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Int

from ucad.data import InterventionalData
from ucad.graph import boolean_product
from ucad.solvers.search.causes import Causes
from ucad.solvers.search.functions import Function
from ucad.solvers.search.reanchor import gains_of, occupy, unexplained, vacate
from ucad.solvers.search.refinement import Model, close, polish, said_by_children
from ucad.solvers.search.screening import transitive_closure
from ucad.solvers.search.settings import FitSettings
from ucad.solvers.search.sparse import causal_odds
from ucad.solvers.search.start import predict_variable
from ucad.solvers.search.unfold import unfold

__all__ = ["turn"]

CLEAR_ODDS = 6.0


def turn(
    data: InterventionalData,
    model: Model,
    causes: Causes,
    settings: FitSettings,
    final: FitSettings,
    only: Sequence[int],
) -> Model:
    """Replaces a factor by what other variables say of one of its parents, if the model gains.

    Where nobody clamps it, a child of a factor predicts its siblings and passes for their cause,
    and even for that of its own parents. But true parents of a factor seldom predict each other,
    and their children seldom predict them better than a parent predicts its children: a parent
    that the others predict better than its own factors do may be a child. Its regression on them
    takes the factor's place, whose children are given to all factors they may have. Just the
    factors `only` are tried.
    """
    for k in only:
        while (turned := _turned(data, model, k, causes, settings, final)) is not None:
            model = turned
    return model


def _turned(
    data: InterventionalData,
    model: Model,
    k: int,
    causes: Causes,
    settings: FitSettings,
    final: FitSettings,
) -> Model | None:
    """The best model with another factor k; None if it is no better."""
    spare: Model | None = None
    best = model
    for function in _predicted_parents(data, model, k, causes, settings):
        spare = vacate(data, model, k, settings) if spare is None else spare
        gains = gains_of(data, spare, k, function, unexplained(data, spare), settings)
        trial = occupy(data, spare, k, function, gains, settings)
        if trial is None or not close(trial, model, settings):
            continue
        if settings.variable_fit.hidden:
            trial = unfold(data, trial, settings, final, only=[k])
        trial = polish(data, trial, final, 1, only=[k])
        if trial.score > best.score and causes.allow(trial.Q, trial.R):
            best = trial
    return None if best is model else best


def _predicted_parents(
    data: InterventionalData, model: Model, k: int, causes: Causes, settings: FitSettings
) -> Iterator[Function]:
    """E[x_i | others] for every parent i of k of which that explains more than i's factors do.

    Where clamping i shows that it causes the children of k it is not tried.

    The others are the other parents of k; then the children of k too, and what else may cause i,
    if i gains more than those of them lose that have no other factor.
    """
    parents, children = model.factors[k].parents, np.flatnonzero(model.R[:, k])
    if not len(parents) or not len(children):
        return
    said = said_by_children(data, model, k, settings)
    doubtful = parents[causal_odds(data, model.factors[k], said) < CLEAR_ODDS]
    counts = (~data.is_intervened).sum(axis=0)
    only = children[model.R[children].sum(axis=1) == 1]
    lost = -(counts[only] / 2 * np.log(model.errors[only] + settings.floor)).sum()
    for i in doubtful.tolist():
        possible = _possible_causes(model, k, i, causes)
        siblings = parents[parents != i]
        if causes.position is not None:
            siblings = np.intersect1d(siblings, possible)
        around = np.intersect1d(np.union1d(siblings, children), possible)
        for rest, allowed, price in (
            (siblings, siblings, 0.0),
            (around, possible, float(max(lost, 0.0))),
        ):
            most = counts[i] / 2 * np.log(model.errors[i] / settings.floor + 1)
            if not len(rest) or most < price:
                continue
            factor, error, size = predict_variable(data, i, rest, allowed, settings)
            odds = np.log((model.errors[i] + settings.floor) / (error + settings.floor))
            if counts[i] / 2 * odds > settings.penalty * size + price:
                yield factor


def _possible_causes(model: Model, k: int, i: int, causes: Causes) -> Int[np.ndarray, " some"]:
    """The variables that i does not precede once factor k has no edges."""
    Q, R = model.Q.copy(), model.R.copy()
    Q[:, k] = R[:, k] = False
    below = transitive_closure(boolean_product(Q, R.T))[i] | causes.ancestors[i]
    below[i] = True
    if causes.position is not None:
        below |= causes.position >= causes.position[i]
    if causes.prior is not None:
        below |= ~causes.prior.pairs[:, i]
    return np.flatnonzero(~below)
