"""Theorem "Approximate transformation bound": Δ̂ is bounded by the residuals, hence by the score."""

import numpy as np
import torch
from hypothesis import given

from tests.strategies import factor_scms, seeds
from ucad.scm import Abstraction, FactorSCM, LinearMechanism, MLPMechanism
from ucad.simulate import random_targets, simulate


def perturbed(scm: FactorSCM, seed: int) -> FactorSCM:
    """A model that is wrong about the mechanisms, as a learned one is."""
    generator = torch.Generator().manual_seed(seed)

    def shaken(mechanism):
        first, *rest = mechanism.__dict__.values()
        noise = 1 + 0.5 * torch.randn(first.shape, generator=generator, dtype=first.dtype)
        return type(mechanism)(first * noise, *rest)

    return FactorSCM(
        scm.graph,
        shaken(scm.factor_mechanism),
        shaken(scm.variable_mechanism),
        scm.noise_scale.clamp_min(0.1),
    )


@given(factor_scms(), seeds)
def test_the_error_of_a_wrong_model_stays_within_every_bound(scm, seed):
    rng = np.random.default_rng(seed)
    targets = random_targets(6, scm.graph.n_variables, rng)
    data = simulate(scm, targets, rng.integers(0, 7, size=300), seed)
    for model in (scm, perturbed(scm, seed)):
        errors = Abstraction(model).error(data)
        for error, bound in (errors.overall, *errors.by_regime.values()):
            slack = 1e-9
            assert error <= bound.matrix * (1 + slack) + slack
            assert bound.matrix <= bound.norm * (1 + slack) + slack
            assert bound.norm <= bound.score * (1 + slack) + slack


@given(factor_scms(noise=0.0), seeds)
def test_the_true_model_of_noiseless_data_has_no_error(scm, seed):
    rng = np.random.default_rng(seed)
    targets = random_targets(4, scm.graph.n_variables, rng)
    data = simulate(scm, targets, rng.integers(0, 5, size=100), seed)
    assert Abstraction(scm).error(data).overall.error < 1e-20


@given(factor_scms(), seeds)
def test_lipschitz_constants_bound_every_slope(scm, seed):
    generator = torch.Generator().manual_seed(seed)
    for mechanism in (scm.factor_mechanism, scm.variable_mechanism):
        assert isinstance(mechanism, LinearMechanism | MLPMechanism)
        n_inputs = mechanism.uses().shape[1]
        a, b = torch.randn(2, 200, n_inputs, generator=generator, dtype=torch.float64)
        rise = (mechanism(a) - mechanism(b)).abs()
        run = (a - b).norm(dim=1, keepdim=True)
        assert (rise <= mechanism.lipschitz() * run * (1 + 1e-9)).all()
