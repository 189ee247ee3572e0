"""From the search's own functions to a `FactorSCM`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ucad.data import InterventionalData
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, LinearMechanism, MLPMechanism
from ucad.solvers.search.functions import Function
from ucad.solvers.search.refinement import Model

__all__ = ["as_mechanism", "as_scm", "parameter_count"]

STRAIGHT = 1e-4


def as_scm(model: Model, data: InterventionalData) -> FactorSCM:
    """The model with its graph, mechanisms and noise; noise is what the factors leave."""
    graph = FactorGraph(model.Q, model.R, variable_names=data.variable_names)
    return FactorSCM(
        graph,
        as_mechanism(model.factors, data.n_variables),
        as_mechanism(model.variables, len(model.factors)),
        torch.tensor(np.sqrt(model.errors), dtype=torch.float64),
    )


def as_mechanism(functions: Sequence[Function], n_inputs: int) -> LinearMechanism | MLPMechanism:
    """All functions of one side as one mechanism: linear if every one is.

    Among networks, a linear function is ε⁻¹ tanh(ε w·x), which it is but for ε² (w·x)³ / 3.
    """
    hidden = max((len(f.w1) for f in functions if f.w1 is not None), default=0)
    bias = torch.tensor([f.b2 for f in functions], dtype=torch.float64)
    if not hidden:
        weight = np.zeros((len(functions), n_inputs))
        for t, function in enumerate(functions):
            weight[t, function.parents] = function.w2
        return LinearMechanism(torch.tensor(weight), bias)
    w1 = np.zeros((len(functions), hidden, n_inputs))
    b1, w2 = np.zeros((2, len(functions), hidden))
    for t, function in enumerate(functions):
        if function.w1 is not None:
            units = len(function.w1)
            w1[t][:units, function.parents] = function.w1
            b1[t, :units], w2[t, :units] = function.b1, function.w2
        elif len(function.parents):
            w1[t, 0, function.parents] = STRAIGHT * function.w2
            w2[t, 0] = 1 / STRAIGHT
    return MLPMechanism(torch.tensor(w1), torch.tensor(b1), torch.tensor(w2), bias)


def parameter_count(model: Model) -> int:
    """The number of free parameters, scale and shift of every factor taken off."""
    functions = (*model.factors, *model.variables)
    return sum(function.n_weights for function in functions) - 2 * len(model.factors)
