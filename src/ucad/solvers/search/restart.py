"""Starting the function of a factor again where it is stuck."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from ucad.data import InterventionalData
from ucad.solvers.search.functions import fit_function, unit_variance
from ucad.solvers.search.refinement import Model, refit, said_by_children
from ucad.solvers.search.settings import FitSettings

__all__ = ["restart"]

N_STARTS = 3
EXACT, NOISY = 0.1, 10.0


def restart(
    data: InterventionalData,
    model: Model,
    settings: FitSettings,
    only: Collection[int] | None = None,
) -> Model:
    """Fits factors from other random weights where all but nothing is left of their children.

    A network fitted to the values of one of its own size can end at an error of 1e-3 instead of
    1e-6. Beside noise that is nothing; without noise it costs thousands of nats, and a wrong graph
    may win by them. So it is tried where the best explained child has between a tenth of s₀ and
    ten s₀ left. For linear F_X. Kept if the score is higher; with `only`, just these factors.
    """
    if settings.variable_fit.hidden or not settings.factor_fit.hidden:
        return model
    for k in range(len(model.factors)) if only is None else only:
        children = np.flatnonzero(model.R[:, k])
        parents = model.factors[k].parents
        if not len(children) or len(parents) < 2:
            continue
        for start in range(1, N_STARTS + 1):
            left = model.errors[children].min() / settings.floor
            if not EXACT < left < NOISY:
                break
            config = replace(settings.factor_fit, seed=settings.factor_fit.seed + start)
            said = said_by_children(data, model, k, settings)
            fitted = fit_function(data.x, parents, said, config)
            changed = model.with_factor(k, unit_variance(fitted, data.x), data)
            trial = refit(data, changed, children, settings)
            model = max(model, trial, key=lambda one: one.score)
    return model
