"""Systems of other functions: the spread and the share of signal that are asked for."""

import numpy as np
import pytest

from tests.simulate.worlds.made_worlds import (
    chain_model,
    child_residuals,
    factor_fit,
    r_squared,
    world,
)
from ucad.errors import InvalidInputError
from ucad.simulate.worlds import WORLDS, Planted
from ucad.simulate.worlds.experiment import Doing
from ucad.simulate.worlds.functions import FUNCTIONS
from ucad.simulate.worlds.shaped import Form, shaped_system

N = 20_000


def drawn(form, seed=0):
    model = chain_model()
    system = shaped_system(model, form, np.random.default_rng(seed))
    return model, system.sample(Doing.nothing(N, 5), np.random.default_rng(seed + 1))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_factors_have_mean_zero_and_variance_one_whatever_their_function(name):
    _, found = drawn(Form(factor_function=name))
    np.testing.assert_allclose(found.z.mean(axis=0), 0.0, atol=0.04)
    np.testing.assert_allclose(found.z.std(axis=0), 1.0, atol=0.05)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_children_have_the_signal_and_the_noise_of_the_linear_model(name):
    """x_j = √R² · standardised F_X(z) + u_j: variance 1, of which 1 − R² is noise."""
    model, found = drawn(Form(variable_function=name))
    np.testing.assert_allclose(found.x.var(axis=0), 1.0, atol=0.06)
    child = np.flatnonzero(model.graph.R.any(axis=1))
    for j in child:
        z = found.z[:, model.graph.R[j]][:, 0]
        bins = np.digitize(z, np.quantile(z, np.linspace(0, 1, 60)[1:-1]))
        left = [found.x[bins == b, j].var() * (bins == b).mean() for b in np.unique(bins)]
        assert sum(left) == pytest.approx(model.noise_scale[j] ** 2, abs=0.05)


def test_the_plain_form_is_the_linear_model():
    model, found = drawn(Form())
    np.testing.assert_allclose(found.z, found.x @ model.W_Z.T, atol=1e-9)
    u = found.x - found.z @ model.W_X.T
    np.testing.assert_allclose(u.std(axis=0), model.noise_scale, rtol=0.04)


@pytest.mark.parametrize(
    ("form", "is_linear"),
    [
        ({}, True),
        ({"noise": "student-t"}, True),
        ({"emission": "uneven"}, True),
        ({"emission": "binary"}, False),
        ({"factor_function": "sine"}, False),
        ({"variable_function": "sine"}, False),
    ],
)
def test_expected_values_are_linear_unless_a_function_or_an_emission_bends_them(form, is_linear):
    assert Form(**form).is_linear == is_linear


@pytest.mark.parametrize("zeros", [0.0, 1.0, -0.2])
def test_all_or_no_zeros_are_refused(zeros):
    with pytest.raises(InvalidInputError, match=f"'zeros' .* between 0 and 1. Got {zeros}"):
        Form(zeros=zeros)


FUNCTION_WORLDS = [
    name
    for name, known in WORLDS.items()
    if isinstance(known.settings, Planted)
    and known.settings.factor_function != "linear"
    and known.settings.emission == "additive"
]


@pytest.mark.parametrize("name", FUNCTION_WORLDS)
def test_factors_are_not_linear_in_their_parents_where_the_world_says_so(name):
    problem = world(name)
    several = problem.graph.Q.sum(axis=0) > 1
    assert (factor_fit(problem)[several] < 0.97).all()
    assert (factor_fit(world("planted")) > 1 - 1e-9).all()


def test_variables_are_curved_in_the_polynomial_world_alone():
    def gain(problem):
        child = np.flatnonzero(problem.graph.R.sum(axis=1) == 1)[0]
        z = problem.factors[:, problem.graph.R[child]]
        y = problem.test.x[:, child]
        return r_squared(y, np.hstack([z, z**2])) - r_squared(y, z)

    assert gain(world("polynomial")) > 0.05
    assert gain(world("planted")) < 0.01


@pytest.mark.parametrize("name", ["fold", "product"])
def test_folds_and_products_are_uncorrelated_with_their_parents(name):
    def explained(problem):
        first = problem.graph.factor_level == 0
        several = problem.graph.Q.sum(axis=0) > 1
        return factor_fit(problem)[first & several].max()

    assert explained(world(name)) < 0.02
    assert explained(world("interaction")) > 0.3


def test_a_factor_of_a_threshold_or_logic_world_has_two_values():
    for name in ("threshold", "logic"):
        assert all(len(np.unique(z)) == 2 for z in world(name).factors.T)
    assert all(len(np.unique(z)) > 2 for z in world("binary").factors.T)


def test_children_carry_the_signal_asked_for():
    for name in ("planted", "relu", "fold", "threshold"):
        problem = world(name, signal=(0.6, 0.7))
        child = problem.graph.R.any(axis=1)
        left = (child_residuals(problem).var(axis=0) / problem.test.x.var(axis=0))[child]
        assert left.min() > 0.27, name
        assert left.max() < 0.43, name
