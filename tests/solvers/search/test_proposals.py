"""Candidate factors."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import NONLINEAR, measured, nothing_known
from ucad.solvers.search.proposals import Proposer


def wave(x):
    """Goes down, up and down again; no single feature of a regression follows it."""
    return np.exp(-20 * (x + 0.2) ** 2) - np.exp(-20 * (x - 0.2) ** 2)


@pytest.fixture(scope="module")
def data():
    """Besides the two factors, x8 = wave(x9) and much noise."""

    def weak(x, noise):
        x[:, 8] = wave(x[:, 9]) + 8 * noise[:, 8]

    return measured(weak)


def proposer(data, *later, settings=NONLINEAR):
    causes = nothing_known(ancestors=[(8, i) for i in later])
    return Proposer(data, causes, settings)


def test_anchors_are_functions_of_the_parents(data):
    found = [f.parents.tolist() for f in proposer(data).anchors()]
    assert [0] in found
    assert [1] in found


def test_a_wave_is_seen_where_no_feature_pays_alone(data):
    sets, _ = proposer(data)._parent_sets(nothing_known().may_cause, data.x)
    assert len(sets[8]) == 0
    assert [9] in [f.parents.tolist() for f in proposer(data).anchors()]
    known = proposer(data, 9)
    assert [9] not in [f.parents.tolist() for f in known.anchors()]


def test_what_is_left_is_a_function_of_the_variable_that_explains_most(data):
    left = np.zeros_like(data.x)
    left[:, 8] = data.x[:, 8]
    first = next(iter(proposer(data).of_one_parent(left, 3)))
    assert first.parents.tolist() == [9]
    assert abs(np.corrcoef(first.values(data.x), wave(data.x[:, 9]))[0, 1]) > 0.7
