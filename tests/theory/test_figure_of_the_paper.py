"""The example of the paper's figure: six variables, three factors, by hand."""

import numpy as np
import pytest
import torch

from ucad.graph import FactorGraph
from ucad.scm import Abstraction, Clamp, FactorSCM, LinearMechanism

PARENTS = {"Z1": ["X1", "X2"], "Z2": ["X3", "X4"], "Z3": ["X4", "X6"]}
CHILDREN = {"Z1": ["X4"], "Z2": ["X6"], "Z3": ["X5"]}


@pytest.fixture
def graph() -> FactorGraph:
    variables = [f"X{i}" for i in range(1, 7)]
    Q = np.array([[x in parents for parents in PARENTS.values()] for x in variables])
    R = np.array([[x in children for children in CHILDREN.values()] for x in variables])
    return FactorGraph(Q, R)


@pytest.fixture
def scm(graph) -> FactorSCM:
    """F_Z adds its parents, Z3 with weights 1 and 10; X4 = 2 Z1, X6 = 3 Z2, X5 = Z3."""
    weights = np.where(graph.Q.T, 1.0, 0.0)
    weights[2, 5] = 10.0
    children = np.zeros((6, 3))
    children[3, 0], children[5, 1], children[4, 2] = 2.0, 3.0, 1.0
    F_Z = LinearMechanism(torch.tensor(weights), torch.zeros(3, dtype=torch.float64))
    F_X = LinearMechanism(torch.tensor(children), torch.zeros(6, dtype=torch.float64))
    return FactorSCM(graph, F_Z, F_X, torch.ones(6, dtype=torch.float64))


def test_both_collapsed_graphs_are_those_of_the_figure(graph):
    low = {(i, j) for i in graph.variable_names for j in graph.low_level_children(i)}
    assert low == {
        ("X1", "X4"), ("X2", "X4"), ("X3", "X6"), ("X4", "X5"), ("X4", "X6"), ("X6", "X5"),
    }  # fmt: skip
    high = {(a, b) for a in graph.factor_names for b in graph.high_level_children(a)}
    assert high == {("Z1", "Z2"), ("Z1", "Z3"), ("Z2", "Z3")}


def test_the_collapsed_mechanism_of_z3_is_f_z3_of_f_x4_and_f_x6(scm):
    """F^H_{Z3}(z1, z2) = F_{Z3}(F_{X4}(z1), F_{X6}(z2)) = 2 z1 + 10 · 3 z2."""
    high = Abstraction(scm).high_level
    z = torch.tensor([[0.5, -2.0]], dtype=torch.float64)
    no_noise = torch.zeros(1, 6, dtype=torch.float64)
    assert float(high.mechanism("Z3")(z, no_noise)) == pytest.approx(2 * 0.5 + 30 * -2.0)


def test_clamping_x4_changes_z2_and_z3_from_inside(scm):
    """X4 ← C4 replaces F^H_{Z3} by F_{Z3}(C4, F_{X6}(z2)), and leaves Z1 alone."""
    abstraction = Abstraction(scm)
    image = abstraction.intervention_map({"X4": 7.0})
    assert image.support == {"Z2", "Z3"}
    for replacement in image.replacements.values():
        assert isinstance(replacement, Clamp)
        assert replacement.values == {"X4": 7.0}
    u = torch.tensor([[1.0, 2.0, 3.0, 100.0, 0.0, 0.0]], dtype=torch.float64)
    z1, z2 = 1.0 + 2.0, 3.0 + 7.0
    expected = [z1, z2, 7.0 + 10 * 3 * z2]
    assert abstraction.high_level.solve(u, image).tolist() == [expected]
    assert abstraction.low_level.solve(u, {"X4": 7.0}).tolist() == [
        [1.0, 2.0, 3.0, 7.0, expected[2], 3 * z2]
    ]
