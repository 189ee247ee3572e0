"""Which edges hang on a direction that the data leave open."""

import numpy as np
import pytest

from ucad.consensus.open_edges import open_edges
from ucad.consensus.support import Graph
from ucad.data import InterventionalData
from ucad.graph import FactorGraph
from ucad.scm.families import AFFINE
from ucad.solvers.search import oracle_score

CHAIN = [("X1", "X2"), ("X2", "X3"), ("X4", "X5")]
"""X1 → Z1 → X2 → Z2 → X3, and X4 → Z3 → X5 beside it."""


def chain(noise, acted_on):
    """Data of the chain, with these variables set at random in a regime of their own each."""
    rng = np.random.default_rng(0)
    n = 400 * (1 + len(acted_on))
    clamps = np.zeros((n, 5), dtype=bool)
    for number, variable in enumerate(acted_on):
        clamps[400 * (number + 1) : 400 * (number + 2), variable] = True
    x = rng.standard_normal((n, 5))
    for cause, effect in [(0, 1), (1, 2), (3, 4)]:
        made = 0.8 * x[:, cause] + noise * rng.standard_normal(n)
        x[:, effect] = np.where(clamps[:, effect], x[:, effect], made)
    return InterventionalData.from_arrays(x, clamps).standardised()


def hanging(data, **told):
    Q, R = np.zeros((2, 5, 3), dtype=bool)
    for k, (cause, effect) in enumerate([(0, 1), (1, 2), (3, 4)]):
        Q[cause, k] = R[effect, k] = True
    scm = oracle_score(data, FactorGraph(Q, R), (AFFINE, AFFINE)).scm
    found = open_edges(scm, data, **told)
    return {pair for pair in CHAIN if found.has(Graph.A, *pair)}, found


def test_without_noise_all_hangs_that_touches_an_edge_nobody_acted_on():
    edges, found = hanging(chain(0.0, acted_on=[0, 3]))
    assert edges == {("X1", "X2"), ("X2", "X3")}
    assert found.has(Graph.A, "X3", "X2"), "also the other way round"
    assert found.has(Graph.Q, "X2", "Z2")
    assert found.has(Graph.R, "Z1", "X2")
    assert found.has(Graph.B, "Z1", "Z2")
    assert found.has(Graph.Q, "X1", "Z1"), "nothing else shows that X1 makes anything"
    assert not found.has(Graph.Q, "X4", "Z3")
    assert not found.has(Graph.R, "Z3", "X5")


def test_with_noise_only_the_open_edge_itself_hangs():
    edges, found = hanging(chain(0.6, acted_on=[0, 3]), told=[("X2", "X3")])
    assert edges == {("X2", "X3")}
    assert found.has(Graph.Q, "X2", "Z2")
    assert not found.has(Graph.R, "Z1", "X2")


@pytest.mark.parametrize("noise", [0.0, 0.6])
def test_nothing_hangs_where_one_end_of_every_edge_was_acted_on(noise):
    assert hanging(chain(noise, acted_on=[0, 1, 3]))[0] == set()


def test_a_relation_that_holds_an_end_may_have_other_causes_too():
    """x_3 = x_1 + x_2 and x_4 = x_3 + x_1: with x_3 open, x_4 may be 2 x_1 + x_2."""
    x = np.random.default_rng(0).standard_normal((800, 6))
    clamps = np.zeros(x.shape, dtype=bool)
    clamps[400:, 0] = True
    x[:, 2] = x[:, 0] + x[:, 1]
    x[:, 3] = x[:, 2] + x[:, 0]
    x[:, 5] = x[:, 0]
    Q, R = np.zeros((2, 6, 3), dtype=bool)
    for k, (causes, effect) in enumerate([([0, 1], 2), ([0, 2], 3), ([0], 5)]):
        Q[causes, k] = R[effect, k] = True
    data = InterventionalData.from_arrays(x, clamps).standardised()
    scm = oracle_score(data, FactorGraph(Q, R), (AFFINE, AFFINE)).scm
    found = open_edges(scm, data)
    assert found.has(Graph.A, "X1", "X4")
    assert found.has(Graph.Q, "X1", "Z2")
    assert not found.has(Graph.A, "X1", "X6")


def test_a_factor_that_the_model_lacks_hangs_by_its_variables_alone():
    found = hanging(chain(0.0, acted_on=[0, 3]))[1]
    assert found.has(Graph.Q, "X2", "Z9")
    assert not found.has(Graph.Q, "X4", "Z9")
    assert not found.has(Graph.B, "Z1", "Z9")


@pytest.mark.parametrize("acts_on_the_copy", [False, True])
def test_what_a_variable_does_its_copy_may_do_unless_they_were_told_apart(acts_on_the_copy):
    """X1 → Z1 → X2 without noise, X1 acted on; X2 and X3 → Z2 → X4 with noise."""
    rng = np.random.default_rng(0)
    x, clamps = rng.standard_normal((1600, 4)), np.zeros((1600, 4), dtype=bool)
    clamps[400:800, 0] = clamps[800:1200, 2] = True
    clamps[1200:, 1] = acts_on_the_copy
    x[:, 1] = np.where(clamps[:, 1], x[:, 1], 2.0 * x[:, 0])
    x[:, 3] = x[:, 1] + x[:, 2] + 0.5 * rng.standard_normal(1600)
    data = InterventionalData.from_arrays(x, clamps).standardised()
    Q, R = np.zeros((2, 4, 2), dtype=bool)
    Q[0, 0] = R[1, 0] = Q[1, 1] = Q[2, 1] = R[3, 1] = True
    found = open_edges(oracle_score(data, FactorGraph(Q, R), (AFFINE, AFFINE)).scm, data)
    assert found.has(Graph.A, "X2", "X4") is not acts_on_the_copy
    assert found.has(Graph.A, "X1", "X4") is not acts_on_the_copy, "the copy may be the cause"
    assert found.has(Graph.Q, "X2", "Z2") is not acts_on_the_copy
    assert not found.has(Graph.A, "X1", "X2"), "acting on X1 showed it"
    assert not found.has(Graph.Q, "X1", "Z1")
    assert not found.has(Graph.A, "X3", "X4")
