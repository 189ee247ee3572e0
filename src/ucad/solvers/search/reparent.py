"""Choosing the parents of a factor again, now that its children are known."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Int

from ucad.data import InterventionalData
from ucad.graph import boolean_product
from ucad.solvers.search.causes import Causes
from ucad.solvers.search.functions import fit_function, unit_variance
from ucad.solvers.search.pruning import prune
from ucad.solvers.search.refinement import Model, close, polish, refit, said_by_children
from ucad.solvers.search.screening import transitive_closure
from ucad.solvers.search.settings import FitSettings
from ucad.solvers.search.sparse import fit_sparse_function, permutation_price

__all__ = ["reparent"]

STRONG = 20.0


def reparent(
    data: InterventionalData,
    model: Model,
    causes: Causes,
    settings: FitSettings,
    final: FitSettings,
    only: Iterable[int],
) -> Model:
    """Adds parents that were overlooked and drops those that are siblings, if the model gains.

    Parents were chosen by regressions that add functions of one variable each, which overlook one
    that acts through others. What the children now say of the factor is tested for all variables.
    Parents that all but do nothing are also dropped together: one by one, each makes up for
    another. Just the factors `only` are tried.
    """
    for k in only:
        old, children = model.factors[k], np.flatnonzero(model.R[:, k])
        if not len(children) or not len(old.parents):
            continue
        said = said_by_children(data, model, k, settings)
        allowed = _possible_parents(model, children, causes)
        fitted = fit_sparse_function(
            data, old.parents, said, allowed, settings.factor_fit, start=old
        )
        price = permutation_price(data.x, fitted, said, settings.floor)
        strong = fitted.parents[price > STRONG * settings.penalty]
        best = model
        for parents in (fitted.parents, strong):
            if not len(parents) or np.array_equal(parents, old.parents):
                continue
            start = fit_function(data.x, parents, said, settings.factor_fit, start=fitted)
            trial = model.with_factor(k, unit_variance(start, data.x), data)
            trial = polish(data, refit(data, trial, children, settings), settings, 1, only=[k])
            if close(trial, model, settings):
                trial = prune(data, polish(data, trial, final, 1, only=[k]), final)
            if trial.score > best.score:
                best = trial
        model = best
    return model


def _possible_parents(
    model: Model, children: Int[np.ndarray, " some"], causes: Causes
) -> Int[np.ndarray, " variables"]:
    """The variables that no child of a factor precedes."""
    below = transitive_closure(boolean_product(model.Q, model.R.T)) | causes.ancestors
    barred = below[children].any(axis=0)
    barred[children] = True
    if causes.position is not None:
        barred |= causes.position >= causes.position[children].min()
    if causes.prior is not None:
        barred |= ~causes.prior.pairs[:, children].all(axis=1)
    return np.flatnonzero(~barred)
