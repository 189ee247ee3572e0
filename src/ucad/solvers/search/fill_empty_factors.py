"""Factors for places that were left empty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Int

from ucad.scm.families import Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import Effort
from ucad.solvers.search.insertion import emptied, insertions
from ucad.solvers.search.model import Edit, Model, edited, polish

__all__ = ["fill_empty_factors"]

N_TRIALS = 4
"""Candidates that are fitted for a place: those that promise most, or lose least."""


def fill_empty_factors(problem: Problem, model: Model, pool: Sequence[Function]) -> Model:
    """The best model in which every factor has a parent and a child, even if it scores lower.

    m factors were asked for, and a model with fewer is no answer. An empty place goes to the
    candidate that loses least: one that explains a little, or a copy of another factor that takes
    over one of its children, which is how collinear factors look. The notes of the fit name it.
    """
    rough, _ = problem.efforts()
    for k in np.flatnonzero(~model.is_used).tolist():
        problem.budget.check()
        spare = emptied(problem, model, k, rough)
        trials = [*_new(problem, spare, k, pool, rough), *_copies(problem, spare, k, rough)]
        legal = [trial for trial in trials if problem.admissible.allows(trial.Q, trial.R)]
        if legal:
            model = max(legal, key=lambda one: one.score)
    return model


def _new(
    problem: Problem, spare: Model, k: int, pool: Sequence[Function], effort: Effort
) -> Iterator[Model]:
    """Models with one of the most promising candidates, and the children that gain most by it."""
    for best in insertions(problem, spare, k, pool)[:N_TRIALS]:
        children = np.union1d(np.flatnonzero(best.gains > 0), [np.argmax(best.gains)])
        yield _filled(problem, spare, k, best.function, children, effort)


def _copies(problem: Problem, spare: Model, k: int, effort: Effort) -> Iterator[Model]:
    """Models in which a factor shares its children with a copy of itself."""
    for other in np.flatnonzero(spare.R.sum(axis=0) > 1):
        child = np.flatnonzero(spare.R[:, other])[-1:]
        R = spare.R.copy()
        R[child, other] = False
        moved, _ = edited(problem, spare, Edit(R), effort)
        yield _filled(problem, moved, k, spare.factors[other], child, effort)


def _filled(
    problem: Problem,
    spare: Model,
    k: int,
    function: Function,
    children: Int[np.ndarray, " some"],
    effort: Effort,
) -> Model:
    R = spare.R.copy()
    R[children, k] = True
    trial, _ = edited(problem, spare, Edit(R, {k: function}), effort)
    return polish(problem, trial, effort, 1, only=[k])
