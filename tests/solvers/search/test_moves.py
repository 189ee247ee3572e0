"""Moves on whole models: disentangling, re-anchoring and turning round."""

import numpy as np
import pytest

from ucad.simulate import paper_problem
from ucad.solvers.search import Mechanisms, SearchConfig
from ucad.solvers.search.disentangle import disentangle, remainder
from ucad.solvers.search.functions import Function, unit_variance
from ucad.solvers.search.reanchor import reanchor
from ucad.solvers.search.refinement import fit_variables
from ucad.solvers.search.turn import turn

SETTINGS = SearchConfig().settings(2000, seed=0)
NONLINEAR = SearchConfig(factor_mechanism=Mechanisms.MLP).settings(2000, seed=0)


@pytest.fixture(scope="module")
def data():
    """x0 → z → x2, x3 and x1 → y → x4, x5, all linear with noise, among 16 variables."""
    base = paper_problem("b", "16-3", seed=0, n_samples=2500).train
    rng = np.random.default_rng(0)
    x = rng.standard_normal(base.x.shape)
    noise = 0.3 * rng.standard_normal(base.x.shape)
    x[:, 2:4] = x[:, [0]] + noise[:, 2:4]
    x[:, 4:6] = x[:, [1]] + noise[:, 4:6]
    return type(base).from_arrays(x).standardised()


def linear(parents, weights):
    return Function(np.array(parents), None, None, np.array(weights, dtype=float), 0.0)


def edges(*pairs):
    R = np.zeros((16, 2), dtype=bool)
    for pair in pairs:
        R[pair] = True
    return R


def test_a_mixture_is_taken_apart(data):
    first = unit_variance(linear([0], [1.0]), data.x)
    mixed = unit_variance(linear([0, 1], [1.0, 1.0]), data.x)
    R = edges((2, 0), (3, 0), (4, 0), (5, 0), (4, 1), (5, 1))
    entangled = fit_variables(data, [first, mixed], R, SETTINGS)
    apart = disentangle(data, entangled, SETTINGS)
    assert apart.score > entangled.score
    assert apart.factors[1].parents.tolist() == [1]
    assert not apart.R[[4, 5], 0].any()


def test_the_remainder_of_a_sum_is_the_other_summand(data):
    z, y = data.x[:, 0], data.x[:, 1]
    rest = remainder(data, z + 2 * y, z, np.array([1]), SETTINGS)
    assert abs(np.corrcoef(rest.values(data.x), y)[0, 1]) > 1 - 1e-9


def test_a_model_that_is_right_is_left_alone(data):
    factors = [unit_variance(linear([k], [1.0]), data.x) for k in (0, 1)]
    R = edges((2, 0), (3, 0), (4, 1), (5, 1))
    model = fit_variables(data, factors, R, SETTINGS)
    assert disentangle(data, model, SETTINGS) is model
    assert reanchor(data, model, factors, SETTINGS) is model
    assert turn(data, model, NONLINEAR, NONLINEAR) is model


def test_a_doubled_factor_makes_room_for_a_missing_one(data):
    wanted = [unit_variance(linear([k], [1.0]), data.x) for k in (0, 1)]
    doubled = fit_variables(data, [wanted[0], wanted[0]], edges((2, 0), (3, 1)), SETTINGS)
    better = reanchor(data, doubled, wanted, SETTINGS)
    assert better.score > doubled.score
    assert {int(f.parents[0]) for f in better.factors} == {0, 1}
    assert better.R.any(axis=1)[[2, 3, 4, 5]].all()


def test_a_child_taken_for_a_parent_is_turned_round(data):
    wrong = unit_variance(linear([0, 2], [1.0, 1.0]), data.x)
    right = unit_variance(linear([1], [1.0]), data.x)
    model = fit_variables(data, [wrong, right], edges((3, 0), (4, 1), (5, 1)), NONLINEAR)
    turned = turn(data, model, NONLINEAR, NONLINEAR)
    assert turned.score > model.score
    assert turned.factors[0].parents.tolist() == [0]
    assert np.flatnonzero(turned.R[:, 0]).tolist() == [2, 3]
