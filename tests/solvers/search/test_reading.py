"""Reading factors off a variable."""

from dataclasses import replace

import numpy as np
import pytest

from tests.solvers.search.two_factors import measured, nothing_known
from ucad.solvers.search import Mechanisms, SearchConfig
from ucad.solvers.search.reading import Reader

LINEAR_FACTORS = SearchConfig(variable_mechanism=Mechanisms.MLP).settings(2000, seed=0)
MLP_FACTORS = SearchConfig(factor_mechanism=Mechanisms.MLP).settings(2000, seed=0)


@pytest.fixture(scope="module")
def data():
    """x4 is a function of 2 x0 + x1 + x6 that is not monotone; x7 is a function of x8 and x9."""

    def ridges(x, noise):
        z = (2 * x[:, 0] + x[:, 1] + x[:, 6]) / np.sqrt(6)
        x[:, 4] = z + 0.5 * z**2 + noise[:, 4]
        x[:, 7] = x[:, 8] + np.sin(2 * x[:, 9]) + 0.4 * x[:, 8] * x[:, 9] + noise[:, 7]

    return measured(ridges)


def parents_of(data, settings, j, causes, *, widen):
    reader = Reader(data, causes, settings)
    seen = np.array([0, 1]) if j == 4 else np.array([8])
    factors = reader.factors_of_variable(j, seen, seen, widen=widen)
    return [f.parents.tolist() for f in factors]


def test_a_linear_factor_has_the_cause_that_screening_missed(data):
    assert [0, 1, 6] in parents_of(data, LINEAR_FACTORS, 4, nothing_known(), widen=True)
    narrow = parents_of(data, LINEAR_FACTORS, 4, nothing_known(), widen=False)
    assert all(set(parents) <= {0, 1} for parents in narrow)


def test_so_does_a_nonlinear_one(data):
    assert [8, 9] in parents_of(data, MLP_FACTORS, 7, nothing_known(), widen=True)


def test_what_is_known_to_come_later_is_not_a_cause(data):
    later = nothing_known(ancestors=[(4, 6)])
    found = parents_of(data, LINEAR_FACTORS, 4, later, widen=True)
    assert all(6 not in parents for parents in found)


def test_a_known_order_is_kept(data):
    layers = nothing_known(layers=[1 if j in (4, 6) else 0 for j in range(16)])
    found = parents_of(data, LINEAR_FACTORS, 4, layers, widen=True)
    assert all(6 not in parents for parents in found)


def test_factors_have_unit_variance(data):
    reader = Reader(data, nothing_known(), replace(LINEAR_FACTORS))
    for factor in reader.factors_of_variable(4, np.array([0, 1]), np.array([0, 1]), widen=True):
        assert factor.values(data.x).std() == pytest.approx(1.0)
