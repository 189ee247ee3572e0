"""From the search's own functions to a `FactorSCM`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ucad.graph import FactorGraph
from ucad.scm import FactorSCM
from ucad.scm.families import AFFINE, Affine, Family, Function, StackedMechanism
from ucad.solvers.problem import Problem
from ucad.solvers.search.model import Model

__all__ = ["as_scm"]


def as_scm(problem: Problem, model: Model) -> FactorSCM:
    """The model with its graph, mechanisms and noise; noise is what the factors leave.

    Of noisy readings that includes bᵀ N b, which F_X passes on from the readings of the parents.
    """
    names, errors = problem.data.variable_names, model.errors
    N, noise = problem.noise_of(model.factors), None
    if N is not None and problem.noise is not None:
        weights = [g.weights[: len(g.parents)] for g in model.variables]
        own = zip(weights, (g.parents for g in model.variables), strict=True)
        errors = errors + np.array([b @ N[np.ix_(k, k)] @ b for b, k in own])
        noise = torch.tensor(np.sqrt(problem.noise), dtype=torch.float64)
    return FactorSCM(
        FactorGraph(model.Q, model.R, variable_names=names),
        _mechanism(problem.factor_family, model.factors, len(names)),
        _mechanism(problem.variable_family, model.variables, len(model.factors)),
        torch.tensor(np.sqrt(errors), dtype=torch.float64),
        reading_noise=noise,
    )


def _mechanism(family: Family, functions: Sequence[Function], n_inputs: int) -> StackedMechanism:
    """All functions of one side as one mechanism: linear if every one is."""
    if all(isinstance(function, Affine) for function in functions):
        family = AFFINE
    return family.mechanism(functions, n_inputs)
