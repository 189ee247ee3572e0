"""A curve that can be moved to the other side of its factor is a convention, not a finding."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.claims.models import Formula, observed
from ucad.claims.linear_side import acts_one_to_one, could_be_the_other
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, LinearMechanism

Q = np.array([[1], [1], [0], [0]], dtype=bool)
R = ~Q
GRAPH = FactorGraph(Q, R)
"""X1, X2 → Z1 → X3, X4."""
LINEAR_F_Z = LinearMechanism(torch.tensor([[1.0, 0.7, 0, 0]]).double(), torch.zeros(1).double())
LINEAR_F_X = LinearMechanism(
    torch.tensor([[0.0], [0], [1], [-2]]).double(), torch.zeros(4).double()
)


def nothing(z):
    return 0 * z[:, 0]


def samples_with(*, F_Z=None, F_X=None, n_samples=1500, units=1.0):
    """Samples of a model with a formula for the factor, or one for each child."""
    factor = LINEAR_F_Z if F_Z is None else Formula((F_Z,), Q.T)
    made = LINEAR_F_X if F_X is None else Formula((nothing, nothing, *F_X), R)
    scm = FactorSCM(GRAPH, factor, made, torch.tensor([units, 1.0, 0.1, 0.1]).double())
    return observed(scm, scm.sample(n_samples).x.numpy())


@pytest.mark.parametrize(
    "curve", [torch.tanh, torch.exp, lambda u: u**3, lambda u: u + 0.2 * torch.sin(3 * u)]
)
def test_a_function_of_one_direction_with_linear_children_could_be_the_other(curve):
    assert could_be_the_other(samples_with(F_Z=lambda x: curve(x[:, 0] - 0.5 * x[:, 1])), 0)


def test_a_function_of_one_direction_could_be_the_other_however_roughly_it_was_fitted():
    """Wiggles that no child shows, as in a fitted network, turn the gradient but not the data."""

    def fitted(x):
        wiggle = 0.06 * torch.sin(12 * x[:, 1]) + 0.06 * torch.sin(12 * x[:, 0])
        return torch.relu(x[:, 0] - 0.5 * x[:, 1]) + wiggle

    def true(x):
        return torch.relu(x[:, 0] - 0.5 * x[:, 1])

    data = samples_with(F_Z=true).original(np.arange(1500))
    scm = FactorSCM(
        GRAPH, Formula((fitted,), Q.T), LINEAR_F_X, torch.tensor([1, 1, 0.1, 0.1]).double()
    )
    assert could_be_the_other(observed(scm, data), 0)


def test_the_units_of_the_parents_do_not_matter():
    samples = samples_with(F_Z=lambda x: torch.tanh(x[:, 0] / 1000 + x[:, 1]), units=1000.0)
    assert could_be_the_other(samples, 0)
    product = samples_with(F_Z=lambda x: x[:, 0] / 1000 * x[:, 1], units=1000.0)
    assert not could_be_the_other(product, 0)


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: x[:, 0] * x[:, 1],
        lambda x: torch.tanh(2 * x[:, 0]) + x[:, 1] ** 2,
        lambda x: torch.tanh(2 * x[:, 0]) + x[:, 1],
        lambda x: torch.maximum(x[:, 0], x[:, 1]),
    ],
    ids=["product", "two curves", "one curve and a line", "maximum"],
)
def test_a_function_of_two_directions_could_not(formula):
    assert not could_be_the_other(samples_with(F_Z=formula), 0)


@pytest.mark.parametrize("curve", [torch.tanh, torch.exp, lambda z: z**2])
def test_children_that_share_one_curve_with_linear_parents_could_be_the_other(curve):
    children = (lambda z: curve(z[:, 0]), lambda z: 3 - 2 * curve(z[:, 0]))
    assert could_be_the_other(samples_with(F_X=children), 0)


@pytest.mark.parametrize(
    "children",
    [
        (lambda z: torch.tanh(2 * z[:, 0]), lambda z: z[:, 0] ** 2),
        (lambda z: z[:, 0], lambda z: torch.cos(2 * z[:, 0])),
        (lambda z: torch.exp(z[:, 0]), lambda z: torch.exp(-z[:, 0])),
    ],
    ids=["odd and even", "line and wave", "growth and decay"],
)
def test_children_with_different_curves_could_not(children):
    assert not could_be_the_other(samples_with(F_X=children), 0)


def test_children_that_are_straight_lines_in_effect_could_not():
    children = (lambda z: z[:, 0] + 0.01 * z[:, 0] ** 2, lambda z: -z[:, 0])
    assert not could_be_the_other(samples_with(F_X=children), 0)


def test_a_factor_of_one_parent_is_a_function_of_one_direction():
    graph = FactorGraph(
        np.array([[1], [0], [0]], dtype=bool), np.array([[0], [1], [1]], dtype=bool)
    )
    F_X = LinearMechanism(torch.tensor([[0.0], [1], [1]]).double(), torch.zeros(3).double())
    F_Z = Formula((lambda x: x[:, 0] ** 3,), graph.Q.T)
    scm = FactorSCM(graph, F_Z, F_X, torch.ones(3).double())
    assert could_be_the_other(observed(scm, scm.sample(200).x.numpy()), 0)


def test_one_factor_is_judged_without_the_others():
    Q2 = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 0], [0, 0]], dtype=bool)
    R2 = np.array([[0, 0], [0, 0], [0, 0], [0, 0], [1, 1], [1, 1]], dtype=bool)
    graph = FactorGraph(Q2, R2)
    F_Z = Formula((lambda x: torch.tanh(x[:, 0] + x[:, 1]), lambda x: x[:, 2] * x[:, 3]), Q2.T)
    F_X = LinearMechanism(torch.tensor(R2).double(), torch.zeros(6).double())
    scm = FactorSCM(graph, F_Z, F_X, torch.ones(6).double())
    samples = observed(scm, scm.sample(1500).x.numpy())
    assert [could_be_the_other(samples, k) for k in range(2)] == [True, False]


def test_a_bend_that_a_claim_of_scale_would_notice_could_lie_on_the_other_side():
    """sin(1.2 a) + a / 2: its values correlate with a by about .94 only."""
    bent = (lambda z: torch.sin(1.2 * z[:, 0]) + 0.5 * z[:, 0],) * 2
    assert could_be_the_other(samples_with(F_X=bent), 0)


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        (torch.relu, False),
        (lambda z: z**2, False),
        (lambda z: (z > 0).double(), False),
        (torch.tanh, True),
        (lambda z: z**3 + z, True),
        (lambda z: z, True),
    ],
    ids=["rectified", "square", "step", "tanh", "cube", "line"],
)
def test_children_tell_the_value_of_their_factor_if_they_change_with_it(curve, expected):
    children = (lambda z: curve(z[:, 0]), lambda z: 3 - 2 * curve(z[:, 0]))
    assert acts_one_to_one(samples_with(F_X=children), 0) is expected


def test_children_that_are_flat_in_different_places_tell_it_together():
    children = (lambda z: torch.relu(z[:, 0]), lambda z: torch.relu(-z[:, 0]))
    assert acts_one_to_one(samples_with(F_X=children), 0)
