"""Other parents for a factor, and further children."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from ucad.graph import boolean_product, transitive_closure
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import unit_variance
from ucad.solvers.regression.parent_selection import fit_with_selection, permutation_price
from ucad.solvers.search.insertion import children_gained
from ucad.solvers.search.model import Edit, Model, target_from_children, unexplained

__all__ = ["ChangeEdges"]

STRONG = 20.0
"""Prices of an edge that a parent is worth beyond doubt: weaker ones are also dropped together,
since one by one each makes up for another."""


@dataclass(frozen=True)
class ChangeEdges:
    """Adds parents that were overlooked and drops those that are siblings; adds children.

    Parents were chosen by regressions that add functions of one variable each, which overlook one
    that acts through others. What the children now say of the factor is tested for all variables.
    """

    name: str = "other edges"

    def propose(self, problem: Problem, model: Model, only: Collection[int]) -> Iterator[Edit]:
        """Edits of the given factors: all useful parents, the strong ones alone, more children."""
        for k in only:
            if model.R[:, k].any() and len(model.factors[k].parents):
                yield from _other_parents(problem, model, k)
                yield from _more_children(problem, model, k)


def _other_parents(problem: Problem, model: Model, k: int) -> Iterator[Edit]:
    data, old = problem.data, model.factors[k]
    said = target_from_children(problem, model, k)
    fitter = problem.fitter(problem.factor_family)
    allowed = _possible_parents(problem, model, k)
    fitted = fit_with_selection(data, old.parents, said, allowed, fitter, old)
    price = permutation_price(data.x, fitted, said, problem.floor)
    strong = fitted.parents[price > STRONG * problem.penalty]
    for parents in (fitted.parents, strong):
        if len(parents) and not np.array_equal(parents, old.parents):
            start = fitter.fit(data.x, parents, said, fitted)
            yield Edit(model.R, {k: unit_variance(start, data.x)})


def _more_children(problem: Problem, model: Model, k: int) -> Iterator[Edit]:
    left = unexplained(problem, model)
    gains = children_gained(problem, model, k, model.factors[k], left)
    if (gains > 0).any():
        R = model.R.copy()
        R[gains > 0, k] = True
        yield Edit(R, {k: model.factors[k]})


def _possible_parents(problem: Problem, model: Model, k: int) -> Int[np.ndarray, " variables"]:
    """The variables that no child of a factor precedes."""
    below = transitive_closure(boolean_product(model.Q, model.R.T))
    possible = problem.admissible.parents_for(model.R)[:, k]
    return np.flatnonzero(possible & ~below[model.R[:, k]].any(axis=0))
