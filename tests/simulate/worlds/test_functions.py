"""Functions of two weighted sums, against their formulas target by target."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import seeds
from ucad.simulate.worlds.functions import FUNCTIONS, WeightedFunction

FORMULAS = {
    "linear": lambda a, b: a + b,
    "relu": lambda a, b: max(a + b, 0),
    "polynomial": lambda a, b: (a + b) + (a + b) ** 2 / 2,
    "sine": lambda a, b: np.sin(2 * a + 2 * b),
    "threshold": lambda a, b: 1.0 if a + b > 0 else 0.0,
    "fold": lambda a, b: abs(a + b),
    "product": lambda a, b: a * b,
    "interaction": lambda a, b: a + b + a * b,
}


def test_every_function_has_a_formula_to_be_held_against():
    assert FORMULAS.keys() == FUNCTIONS.keys()


@given(st.sampled_from(sorted(FUNCTIONS)), seeds)
def test_inputs_are_dealt_out_in_turn_to_two_sums_and_one_alone_is_multiplied_by_one(name, seed):
    rng = np.random.default_rng(seed)
    weight = rng.standard_normal((4, 6)) * (rng.random((4, 6)) < 0.5)
    weight[0, :] = 0.0
    weight[0, 2] = 1.5
    v = rng.standard_normal((5, 6))
    found = WeightedFunction(name, weight)(v)
    for t, sample in np.ndindex(4, 5):
        terms = [weight[t, i] * v[sample, i] for i in range(6) if weight[t, i] != 0]
        a, b = sum(terms[0::2]), sum(terms[1::2])
        if len(terms) == 1 and name != "linear":
            b = 1.0
        assert found[sample, t] == pytest.approx(FORMULAS[name](a, b), abs=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_depends_on_its_inputs_and_on_no_others(name):
    weight = np.array([[1.0, -1.0, 0.0, 0.8], [0.0, 0.0, 1.0, 0.0]])
    function = WeightedFunction(name, weight)
    rng = np.random.default_rng(0)
    v = rng.standard_normal((300, 4))
    before = function(v)
    for i in range(4):
        changed = v.copy()
        changed[:, i] = rng.standard_normal(300)
        moves = ~np.isclose(function(changed), before).all(axis=0)
        np.testing.assert_array_equal(moves, weight[:, i] != 0)
