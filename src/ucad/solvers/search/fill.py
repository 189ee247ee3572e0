"""Filling the places of factors that were left empty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Int

from ucad.data import InterventionalData
from ucad.solvers.search.causes import Causes
from ucad.solvers.search.functions import NOTHING, Function
from ucad.solvers.search.reanchor import gains_of, unexplained
from ucad.solvers.search.refinement import Model, fit_variables, polish
from ucad.solvers.search.settings import FitSettings

__all__ = ["empty_places", "fill", "worth"]

N_TRIALS = 4


def empty_places(model: Model) -> Int[np.ndarray, " some"]:
    """The factors without a parent or without a child."""
    return np.flatnonzero(~(model.Q.any(axis=0) & model.R.any(axis=0)))


def worth(model: Model) -> tuple[int, float]:
    """What models are compared by in the end: how many factors they have, then the score."""
    return -len(empty_places(model)), model.score


def fill(
    data: InterventionalData,
    model: Model,
    pool: Sequence[Function],
    causes: Causes,
    settings: FitSettings,
) -> Model:
    """The best model in which every factor has a parent and a child, even if it scores lower.

    m factors were asked for, and a model with fewer is no answer. An empty place goes to the
    candidate that loses least: one that explains a little, or a copy of another factor that takes
    over one of its children, which is how collinear factors look.
    """
    for k in empty_places(model):
        spare = _without(data, model, int(k), settings)
        new = _new(data, spare, int(k), pool, causes, settings)
        trials = [*new, *_copies(data, spare, int(k), settings)]
        if trials:
            model = max(trials, key=lambda trial: trial.score)
    return model


def _without(data: InterventionalData, model: Model, k: int, settings: FitSettings) -> Model:
    factors, R = list(model.factors), model.R.copy()
    children = np.flatnonzero(R[:, k])
    factors[k], R[:, k] = NOTHING, False
    return fit_variables(data, factors, R, settings, start=model, only=children)


def _new(
    data: InterventionalData,
    spare: Model,
    k: int,
    pool: Sequence[Function],
    causes: Causes,
    settings: FitSettings,
) -> Iterator[Model]:
    """Models with one of the most promising candidates, and the children that gain most by it."""
    left = unexplained(data, spare)
    ranked = []
    for function in pool:
        gains = gains_of(data, spare, k, function, left, settings, least=-np.inf)
        parents = np.isin(np.arange(data.n_variables), function.parents)
        gains[causes.no_children(parents[:, None])[:, 0]] = -np.inf
        gain = np.maximum(gains, 0.0).sum() + min(gains.max(), 0.0)
        if np.isfinite(gain):
            ranked.append((gain - settings.penalty * len(function.parents), function, gains))
    ranked.sort(key=lambda entry: -entry[0])
    for _, function, gains in ranked[:N_TRIALS]:
        children = np.union1d(np.flatnonzero(gains > 0), [np.argmax(gains)])
        yield _filled(data, spare, k, function, children, settings)


def _copies(
    data: InterventionalData, spare: Model, k: int, settings: FitSettings
) -> Iterator[Model]:
    """Models in which a factor shares its children with a copy of itself."""
    for other in np.flatnonzero(spare.R.sum(axis=0) > 1):
        child = np.flatnonzero(spare.R[:, other])[-1:]
        R = spare.R.copy()
        R[child, other] = False
        moved = fit_variables(data, spare.factors, R, settings, start=spare, only=child)
        yield _filled(data, moved, k, spare.factors[other], child, settings)


def _filled(
    data: InterventionalData,
    spare: Model,
    k: int,
    function: Function,
    children: Int[np.ndarray, " some"],
    settings: FitSettings,
) -> Model:
    factors, R = list(spare.factors), spare.R.copy()
    factors[k], R[children, k] = function, True
    trial = fit_variables(data, factors, R, settings, start=spare, only=children)
    return polish(data, trial, settings, 1, only=[k])
