"""Paths that cancel are found, and held against a model only if a mixture would do as well."""

from __future__ import annotations

import numpy as np
import torch

from tests.claims.models import System, certificate, linear_scm, refitted, samples_of
from ucad.claims.net_effects import net_worth, replaceable
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, LinearMechanism

Q = np.zeros((9, 2), dtype=bool)
Q[[0, 1], 0] = Q[[1, 2, 3], 1] = True
R = np.zeros((9, 2), dtype=bool)
R[[4, 5, 8], 0] = R[[6, 7, 8], 1] = True
"""X1, X2 → Z1 → X5, X6, X9 and X2, X3, X4 → Z2 → X7, X8, X9."""


def mixed():
    """Z2 − Z1 in place of Z2: X2 cancels there, and X1 enters."""
    truth = linear_scm(Q, R)
    weight = torch.stack([truth.factor_mechanism.weight[0], truth.factor_mechanism.weight[1]])
    weight[1] = weight[1] - weight[0]
    graph = FactorGraph((weight != 0).numpy().T, np.where(R[:, [1]], True, R))
    F_X = LinearMechanism(0.8 * torch.tensor(graph.R).double(), torch.zeros(9).double())
    F_Z = LinearMechanism(weight, torch.zeros(2).double())
    return truth, FactorSCM(graph, F_Z, F_X, truth.noise_scale)


def test_paths_that_cancel_are_worth_nothing_and_others_are():
    truth, wrong = mixed()
    system = System(scm=truth)
    samples = samples_of(refitted(wrong, system.draw()), system)
    worth = net_worth(samples, samples.folds[0].test)
    assert worth[0, 6] < 3 < worth[0, 8]


def test_a_mixture_that_has_a_simpler_double_is_not_claimed():
    truth, wrong = mixed()
    found = certificate(refitted(wrong, System(scm=truth).draw()), System(scm=truth))
    assert "X1 → X7" in found["edges"].details["cancelled"]
    assert not found.may_claim("graph")


def test_a_double_with_more_edges_is_no_rival():
    graph = FactorGraph(Q, R)
    assert replaceable(graph, [(1, 8)]) == []
    assert replaceable(graph, []) == []


def test_a_double_with_as_many_edges_is_one():
    """X1, X2 → Z1 → X4, X5 and X1, X3 → Z2 → X4, X6; X1 does nothing to X4.

    With a mixture of X2 and X3 in place of Z1, X4 needs it alone and X5 both: 8 edges again.
    """
    Q, R = np.zeros((2, 6, 2), dtype=bool)
    Q[[0, 1], 0] = Q[[0, 2], 1] = True
    R[[3, 4], 0] = R[[3, 5], 1] = True
    assert replaceable(FactorGraph(Q, R), [(0, 3)]) == [(0, 3, 0, 1)]
