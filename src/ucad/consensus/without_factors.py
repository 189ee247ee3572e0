"""Models without factors: independent variables, and direct edges between variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int

from ucad._types import BooleanMatrix
from ucad.data import InterventionalData
from ucad.graph import FactorGraph, transitive_closure
from ucad.scm import FactorSCM
from ucad.scm.families import AFFINE, EMPTY, Function
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import Regression, unit_variance
from ucad.solvers.search.causes import parent_sets
from ucad.solvers.search.export import as_scm
from ucad.solvers.search.model import fit_variables
from ucad.solvers.search.search import Preparation

__all__ = ["DirectModel", "direct_model", "independent_scm"]


@dataclass(frozen=True, eq=False)
class DirectModel:
    """Every variable as a function of other variables, without factors in between.

    Attributes:
        scm: the model, written with one factor per variable that has causes: with a single child
            each, such factors are only names for the mechanisms.
        adjacency: [i, j] for i a direct cause of j.
    """

    scm: FactorSCM
    adjacency: BooleanMatrix

    @property
    def n_driven(self) -> int:
        """How many variables have causes."""
        return int(self.adjacency.any(axis=0).sum())

    @property
    def n_edges(self) -> int:
        """How many direct edges there are."""
        return int(self.adjacency.sum())


def independent_scm(data: InterventionalData) -> FactorSCM:
    """The model of zero factors: every variable has its own mean and variance where it is free.

    >>> from ucad.simulate import paper_problem
    >>> independent_scm(paper_problem("b", "16-3", seed=0, n_samples=400).train).graph.n_factors
    0
    """
    free = ~data.is_left_out
    weight = np.where(free.any(axis=0), free, 1.0)
    count = weight.sum(axis=0)
    mean = (data.x * weight).sum(axis=0) / count
    sd = np.sqrt(((data.x - mean) ** 2 * weight).sum(axis=0) / count)
    nothing = np.zeros((data.n_variables, 0), dtype=bool)
    return FactorSCM(
        FactorGraph(nothing, nothing, variable_names=data.variable_names),
        AFFINE.mechanism([], data.n_variables),
        AFFINE.mechanism([replace(EMPTY, b=float(b)) for b in mean], 0),
        torch.tensor(sd, dtype=torch.float64),
    )


def direct_model(prepared: Preparation) -> DirectModel | None:
    """The sparse DAG without factors: each variable regressed on its possible causes.

    Parents are selected at the price of an edge, as those of candidate factors are; where the
    possible causes contain cycles, the variables that gain most choose first. None if no variable
    has a cause.
    """
    problem, causes = prepared.problem, prepared.causes
    backward = causes.is_noisy and problem.is_linear
    sets, gains = parent_sets(problem, causes.may_cause, backward=backward)
    adjacency = _acyclic(sets, gains)
    driven = np.flatnonzero(adjacency.any(axis=0))
    if not len(driven):
        return None
    family = problem.reading_family
    single = replace(problem, n_factors=len(driven), factor_family=family, variable_family=AFFINE)
    factors = [_function(problem, int(j), np.flatnonzero(adjacency[:, j])) for j in driven]
    R = np.zeros((problem.data.n_variables, len(driven)), dtype=bool)
    R[driven, np.arange(len(driven))] = True
    model = fit_variables(single, factors, R, single.efforts()[1])
    return DirectModel(as_scm(single, model), adjacency)


def _function(problem: Problem, j: int, parents: Int[np.ndarray, " some"]) -> Function:
    """E[x_j | parents], of unit variance."""
    problem.budget.check()
    x = problem.data.x
    regression = Regression(x[:, j], (~problem.data.is_left_out[:, j]).astype(np.float64))
    return unit_variance(problem.fitter(problem.reading_family).fit(x, parents, regression), x)


def _acyclic(
    sets: Sequence[Int[np.ndarray, " _"]], gains: Float[np.ndarray, " variables"]
) -> BooleanMatrix:
    """The chosen parents as a DAG: those that would close a cycle are left out."""
    n = len(sets)
    adjacency = np.zeros((n, n), dtype=bool)
    reach = np.eye(n, dtype=bool)
    for j in np.argsort(-gains, kind="stable"):
        kept = [i for i in sets[j] if not reach[j, i]]
        adjacency[kept, j] = True
        if kept:
            reach = transitive_closure(adjacency) | np.eye(n, dtype=bool)
    return adjacency
