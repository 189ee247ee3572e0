"""The same edges, fitted from another start."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from ucad.scm.families import Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import THOROUGH, Effort, Regression, unit_variance
from ucad.solvers.search.blankets import has_noise
from ucad.solvers.search.model import Edit, Model, target_from_children
from ucad.solvers.search.single_index import leading_direction

__all__ = ["RefitFromAnotherStart"]

BARELY = Effort(n_steps=3, tolerance=1e-3, n_samples=3000)
"""A few steps: the network shall be straight, not exact."""


@dataclass(frozen=True)
class RefitFromAnotherStart:
    """Starts a factor again where it may be folded, or stuck.

    A factor read off a child x_j = g(z) is g(z). If g is not monotone, the true factor is no
    function of that, one hidden layer cannot follow the folds of g, and no small change undoes
    them. But ∇g(z) = g'(z) ∇z has the direction of ∇z whatever g is: a factor that is linear along
    the leading one, fitted together with its children, has no folds.

    Where variables are linear a factor may be stuck short of what its children say of it.
    """

    name: str = "other starts"

    def propose(self, problem: Problem, model: Model, only: Collection[int]) -> Iterator[Edit]:
        """One edit per factor that keeps all edges."""
        if problem.is_linear:
            return
        x = problem.data.x
        for k in only:
            factor = model.factors[k]
            if not len(factor.parents) or not model.R[:, k].any():
                continue
            if not problem.variable_family.is_affine:
                yield Edit(model.R, {k: _straight(problem, factor)}, starts_anew=True)
                continue
            fitter = problem.fitter(problem.factor_family, THOROUGH)
            said, noisy = target_from_children(problem, model, k), has_noise(problem)
            other = fitter.refit_stuck(x, factor, said, noisy=noisy)
            if other is not factor:
                yield Edit(model.R, {k: unit_variance(other, x)})


def _straight(problem: Problem, factor: Function) -> Function:
    x = problem.data.x
    linear: Function = leading_direction(factor.gradient(x), factor.parents)
    if not problem.factor_family.is_affine:
        regression = Regression(linear.values(x), np.ones(len(x)))
        fitter = problem.fitter(problem.factor_family, BARELY)
        linear = fitter.fit(x, factor.parents, regression)
    return unit_variance(linear, x)
