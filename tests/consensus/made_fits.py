"""Fits made by hand: a small model whose factors are relabelled, turned round and pruned."""

import numpy as np
import torch

from tests.claims.models import linear_scm
from ucad.consensus.counting import Fit
from ucad.consensus.resampling import Draw, Kind
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, LinearMechanism

Q = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [0, 0], [0, 0], [0, 0]], dtype=bool)
R = np.array([[0, 0], [0, 0], [0, 0], [0, 0], [1, 0], [1, 0], [0, 1], [0, 1]], dtype=bool)
CHAIN = linear_scm(Q, R)
"""X1, X2 → Z1 → X5, X6 and X3, X4, X5 → Z2 → X7, X8."""

SAMPLES = CHAIN.sample(400, seed=1).x.numpy()
"""What factors are compared on."""


def halves(*scms):
    """Fits to halves, two of each deal."""
    return [Fit(Draw(Kind.HALF, n // 2, n % 2, 0), scm) for n, scm in enumerate(scms)]


def without_regimes(*scms):
    """Fits to all samples but those of some regimes."""
    return [Fit(Draw(Kind.WITHOUT_REGIMES, 0, n, 0), scm) for n, scm in enumerate(scms)]


def relabelled(scm, order, signs):
    """The same model with its factors in another order, some turned round."""
    weights = (
        scm.factor_mechanism.weight[list(order)],
        scm.variable_mechanism.weight[:, list(order)],
    )
    turn = torch.tensor(signs, dtype=torch.float64)
    graph = FactorGraph(scm.graph.Q[:, order], scm.graph.R[:, order], scm.graph.variable_names)
    return _linear(graph, weights[0] * turn[:, None], weights[1] * turn, scm)


def without(scm, *edges):
    """The model without some edges, each the names of cause and effect."""
    kept_Q, kept_R = scm.graph.Q.copy(), scm.graph.R.copy()
    for cause, effect in edges:
        if cause in scm.graph.variable_names:
            kept_Q[scm.graph.variable_index(cause), scm.graph.factor_index(effect)] = False
        else:
            kept_R[scm.graph.variable_index(effect), scm.graph.factor_index(cause)] = False
    graph = FactorGraph(kept_Q, kept_R, scm.graph.variable_names, scm.graph.factor_names)
    F_Z = scm.factor_mechanism.weight * torch.tensor(kept_Q.T)
    return _linear(graph, F_Z, scm.variable_mechanism.weight * torch.tensor(kept_R), scm)


def only(scm, *factors):
    """The model with some of its factors."""
    kept = [scm.graph.factor_index(name) for name in factors]
    graph = FactorGraph(
        scm.graph.Q[:, kept], scm.graph.R[:, kept], scm.graph.variable_names, factors
    )
    weights = scm.factor_mechanism.weight[kept], scm.variable_mechanism.weight[:, kept]
    return _linear(graph, *weights, scm)


def _linear(graph, W_Z, W_X, like):
    nothing = [torch.zeros(len(weight), dtype=torch.float64) for weight in (W_Z, W_X)]
    F_Z, F_X = LinearMechanism(W_Z, nothing[0]), LinearMechanism(W_X, nothing[1])
    return FactorSCM(graph, F_Z, F_X, like.noise_scale)
