"""A context that acts jointly with the factors: F_X(z, w)."""

import numpy as np
import pytest
import torch

from ucad.data import Scaling
from ucad.errors import InvalidInputError
from ucad.graph import FactorGraph
from ucad.scm import ActsOn, ContextEffect, FactorSCM, LinearMechanism, MLPMechanism
from ucad.scm.storage import load_scm, save_scm

N = 40


def double(values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.fixture
def scm():
    """X1 → Z1 → X2 with x₂ = 1.5 (tanh(2z + 2w) − tanh(2z − 2w)), which is 0 at w = 0."""
    Q, R = np.array([[True], [False]]), np.array([[False], [True]])
    joint = MLPMechanism(
        double([[[0.0, 0.0], [0.0, 0.0]], [[2.0, 2.0], [2.0, -2.0]]]),
        double([[0.0, 0.0], [0.0, 0.0]]),
        double([[0.0, 0.0], [1.5, -1.5]]),
        double([0.0, 0.0]),
    )
    effect = ContextEffect(("input[1]",), double([0.0]), double([[0.0], [0.0]]), joint=joint)
    return FactorSCM(
        FactorGraph(Q, R),
        LinearMechanism(double([[1.0, 0.0]]), double([0.0])),
        LinearMechanism(double([[0.0], [0.0]]), double([0.0, 0.0])),
        double([1.0, 0.1]),
        context=effect,
    )


@pytest.fixture
def w():
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(N, 1))


def test_the_variables_depend_on_factor_and_context_together(scm, w):
    u = scm.draw_context(N, 0)
    u[:, 1] = 0.0
    x, z = scm.solve(u, covariates=w)
    near, far = z[:, 0].abs() < 0.5, z[:, 0].abs() > 1.5
    assert (torch.sign(x[:, 1]) == torch.from_numpy(w[:, 0])).all()
    assert x[near, 1].abs().min() > x[far, 1].abs().max()


def test_the_noise_of_a_sample_is_found_again_in_its_context_only(scm, w):
    u = scm.draw_context(N, 1)
    x = scm.solve(u, covariates=w).x
    torch.testing.assert_close(scm.abduct(x, covariates=w), u)
    assert not torch.allclose(scm.abduct(x), u)


def test_other_units_of_variables_and_factors_are_the_same_model(scm, w):
    x = scm.sample(N, 0, w).x
    scaled = scm.in_original_units(Scaling(np.array([1.0, -2.0]), np.array([2.0, 5.0])))
    moved = x * double([2.0, 5.0]) + double([1.0, -2.0])
    torch.testing.assert_close(
        scaled.abduct(moved, covariates=w), scm.abduct(x, covariates=w) * double([2.0, 5.0])
    )
    torch.testing.assert_close(
        scm.canonical(x).abduct(x, covariates=w), scm.abduct(x, covariates=w)
    )


def test_it_is_kept_on_disk(scm, w, tmp_path):
    save_scm(scm, tmp_path)
    torch.testing.assert_close(load_scm(tmp_path).sample(N, 0, w).x, scm.sample(N, 0, w).x)


def test_readings_have_no_joint_context(scm):
    effect = scm.context
    with pytest.raises(InvalidInputError, match="readings"):
        ContextEffect(effect.names, effect.mean, effect.weight, ActsOn.READINGS, effect.joint)
