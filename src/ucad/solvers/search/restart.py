"""Starting the function of a factor again where it is stuck."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ucad.data import InterventionalData
from ucad.solvers.search.functions import refit_if_stuck, unit_variance
from ucad.solvers.search.refinement import Model, refit, said_by_children
from ucad.solvers.search.settings import FitSettings

__all__ = ["restart"]


def restart(
    data: InterventionalData,
    model: Model,
    settings: FitSettings,
    only: Collection[int] | None = None,
) -> Model:
    """Fits factors from other starts where they are stuck short of what their children say.

    For linear F_X. Kept if the score is higher; with `only`, just these factors.
    """
    if settings.variable_fit.hidden or not settings.factor_fit.hidden:
        return model
    for k in range(len(model.factors)) if only is None else only:
        children, factor = np.flatnonzero(model.R[:, k]), model.factors[k]
        if not len(children) or not len(factor.parents):
            continue
        said = said_by_children(data, model, k, settings)
        fitted = refit_if_stuck(data.x, factor, said, settings.factor_fit)
        if fitted is not factor:
            changed = model.with_factor(k, unit_variance(fitted, data.x), data)
            trial = refit(data, changed, children, settings)
            model = max(model, trial, key=lambda one: one.score)
    return model
