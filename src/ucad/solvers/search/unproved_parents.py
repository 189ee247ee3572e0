"""Parents that no regime acts on: in a screen they must be worth every edge that they stand for.

A variable that was never acted on is a parent by patterns of dependence alone, which a bent
mechanism feigns: a sibling of a regulator helps to predict what the regulator does beyond a
straight line. A true parent is worth far more than that.
"""

from __future__ import annotations

import numpy as np

from ucad.scm.families import AFFINE
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import Effort
from ucad.solvers.search.model import Model
from ucad.solvers.search.pruning import without_parent
from ucad.solvers.search.regime_tests import RegimeTests

__all__ = ["without_unproved_parents"]


def without_unproved_parents(problem: Problem, model: Model, effort: Effort) -> Model:
    """Takes parents away that were never acted on and gain less than an edge per child.

    A parent of a factor with c children stands for c edges between variables, and costs one.
    Where an intervention has not shown them, all c are charged: v stays if the log-likelihood is
    lower by at least c · penalty without it. Only in a screen, where regimes move the means of
    their targets: others have nothing better than dependence to go by.
    """
    data = problem.data
    never = np.logical_not(data.is_intervened.any(axis=0))
    doubtful = [k for k, f in enumerate(model.factors) if never[f.parents].any()]
    if not doubtful or never.all() or not RegimeTests(data, AFFINE).is_moved.any():
        return model
    for k in doubtful:
        price = problem.penalty * float(model.R[:, k].sum())
        while len(model.factors[k].parents) > 1:
            places = np.flatnonzero(never[model.factors[k].parents]).tolist()
            trials = [without_parent(problem, model, k, place, effort) for place in places]
            allowed = [t for t in trials if problem.admissible.allows(t.Q, t.R)]
            best = max(allowed, key=lambda trial: trial.score, default=None)
            if best is None or model.score - best.score + problem.penalty >= price:
                break
            model = best
    return model
