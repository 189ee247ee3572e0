"""Lemma "Reparameterization symmetry" and Theorem "Linear parent identifiability"."""

import torch
from hypothesis import given

from tests.strategies import contexts, factor_scms, seeds
from ucad.scm import Abstraction, AffineMap, Bijection, FactorSCM

CUBIC = Bijection(
    forward=lambda z: torch.sinh(z), inverse=lambda z: torch.log(z + torch.sqrt(z * z + 1))
)


def affine(scm: FactorSCM, seed: int) -> AffineMap:
    generator = torch.Generator().manual_seed(seed)
    m = scm.graph.n_factors
    scale = torch.rand(m, generator=generator, dtype=torch.float64) + 0.5
    sign = torch.where(torch.rand(m, generator=generator) < 0.5, -1.0, 1.0)
    return AffineMap(scale * sign, torch.randn(m, generator=generator, dtype=torch.float64))


def low_level_mechanisms(scm: FactorSCM, x: torch.Tensor) -> torch.Tensor:
    """F^L_X(x, 0) of all variables at once."""
    return scm.expected_variables(scm.state_map(x))


@given(factor_scms(), seeds)
def test_bijections_of_the_factors_leave_the_variables_alone(scm, seed):
    x = contexts(scm, seed) / 4
    for rho in (affine(scm, seed), [CUBIC] * scm.graph.n_factors):
        other = scm.reparametrised(rho)
        torch.testing.assert_close(low_level_mechanisms(other, x), low_level_mechanisms(scm, x))
        torch.testing.assert_close(
            Abstraction(other).low_level.solve(x), Abstraction(scm).low_level.solve(x)
        )


@given(factor_scms(), seeds)
def test_the_new_factors_are_the_inverse_bijection_of_the_old(scm, seed):
    x, rho = contexts(scm, seed), affine(scm, seed)
    z, new = scm.state_map(x), scm.reparametrised(rho).state_map(x)
    torch.testing.assert_close(rho.scale * new + rho.shift, z)


@given(factor_scms(linear_factors=True), seeds)
def test_linear_parents_stay_linear_under_affine_bijections_and_under_no_others(scm, seed):
    """For linear F_Z the admissible ρ are affine: F̃_Z is collinear with F_Z, or not linear."""
    kept = scm.reparametrised(affine(scm, seed))
    assert kept.factor_mechanism.is_affine
    ratio = kept.factor_mechanism.weight / scm.factor_mechanism.weight
    for row, used in zip(ratio, scm.factor_mechanism.weight != 0, strict=True):
        torch.testing.assert_close(row[used], row[used][:1].expand(int(used.sum())))
    bent = scm.reparametrised([CUBIC] * scm.graph.n_factors)
    a, b = contexts(scm, seed), 3 + contexts(scm, seed + 1)
    midpoint = bent.state_map((a + b) / 2) - (bent.state_map(a) + bent.state_map(b)) / 2
    assert midpoint.abs().max() > 1e-3


@given(factor_scms(), seeds)
def test_the_canonical_form_has_standard_factors_and_does_not_depend_on_where_it_starts(scm, seed):
    x = scm.sample(200, seed).x
    canonical = scm.canonical(x)
    z = canonical.state_map(x)
    torch.testing.assert_close(z.mean(dim=0), torch.zeros(z.shape[1], dtype=z.dtype))
    torch.testing.assert_close(z.std(dim=0, correction=0), torch.ones(z.shape[1], dtype=z.dtype))
    again = scm.reparametrised(affine(scm, seed)).canonical(x)
    torch.testing.assert_close(again.state_map(x), z)
    torch.testing.assert_close(low_level_mechanisms(canonical, x), low_level_mechanisms(scm, x))
