"""Pairs of models with the same graph and low level whose factors differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from tests.claims.models import Formula, certificate, linear_scm
from tests.claims.models import System as Samples
from ucad.claims.answers import Answer

SHARED = linear_scm(
    Q=[[1, 0], [1, 1], [0, 1], [0, 0], [0, 0]], R=[[0, 0], [0, 0], [0, 0], [1, 1], [1, 1]]
)
"""X1, X2 → Z1 and X2, X3 → Z2, and both make X4 and X5: no factor has an out-anchor."""


def mechanism(mask, *formulas):
    return Formula(formulas, np.array(mask, dtype=bool))


def low_level(scm, x):
    return scm.expected_variables(scm.state_map(x))


def both_read(h):
    """z₁ = tanh x₁ + h(x₂), z₂ = x₃² − h(x₂), and children of z₁ + z₂."""
    F_Z = mechanism(
        SHARED.graph.Q.T,
        lambda x: torch.tanh(x[:, 0]) + torch.sin(x[:, 1]) + h(x[:, 1]),
        lambda x: x[:, 2] ** 2 + x[:, 1] - h(x[:, 1]),
    )
    nothing = [lambda z: 0 * z[:, 0]] * 3
    F_X = mechanism(
        SHARED.graph.R, *nothing, lambda z: z.sum(dim=1), lambda z: torch.tanh(z.sum(dim=1))
    )
    return replace(SHARED, factor_mechanism=F_Z, variable_mechanism=F_X)


def test_without_out_anchors_a_shared_parent_moves_freely_between_two_factors():
    x = torch.randn(500, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    one, other = both_read(lambda u: 0 * u), both_read(lambda u: 2 * torch.cos(3 * u))
    assert torch.allclose(low_level(one, x), low_level(other, x))
    z, w = one.state_map(x)[:, 0], other.state_map(x)[:, 0]
    order = torch.argsort(z)
    assert (torch.diff(w[order]) < 0).double().mean() > 0.2, "no monotone map leads from z to w"


def test_factors_without_out_anchors_are_not_claimed_one_to_one():
    model = both_read(lambda u: 0 * u)
    found = certificate(model, Samples(scm=model, targets=((0,), (1,), (2,))), n_samples=3000)
    rows = found["scale"].details["factors"]
    assert {row["known"] for row in rows} == {"not known"}
    assert found.may_claim("values").answer is not Answer.YES


def test_children_that_are_even_functions_hide_the_sign_of_a_factor():
    chain = linear_scm(Q=[[1], [1], [0]], R=[[0], [0], [1]])
    nothing = [lambda z: 0 * z[:, 0]] * 2
    F_X = mechanism(chain.graph.R, *nothing, lambda z: z[:, 0] ** 2)
    made = [lambda x: x[:, 0] + x[:, 1], lambda x: (x[:, 0] + x[:, 1]).abs()]
    one, other = (
        replace(chain, factor_mechanism=mechanism(chain.graph.Q.T, f), variable_mechanism=F_X)
        for f in made
    )
    x = torch.randn(500, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(low_level(one, x), low_level(other, x))
    z, w = one.state_map(x)[:, 0], other.state_map(x)[:, 0]
    assert abs(np.corrcoef(z, w)[0, 1]) < 0.2


def test_with_two_valued_parents_every_injective_code_fits():
    """One child per value of (x₁, x₂): codes x₁ + 2 x₂ and 3 x₁ − x₂ tell all four cases apart."""
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]).repeat(50, 1)
    table = torch.tensor([0.3, -1.0, 2.0, 0.5])
    child = table[(2 * x[:, 0] + x[:, 1]).long()]
    codes = [x[:, 0] + 2 * x[:, 1], 3 * x[:, 0] - x[:, 1]]
    for code in codes:
        values = torch.unique(code)
        assert len(values) == 4
        assert all(len(torch.unique(child[code == value])) == 1 for value in values)
    assert abs(np.corrcoef(codes[0], codes[1])[0, 1]) < 0.5
