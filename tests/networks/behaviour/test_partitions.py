"""A site that does not hold a concept yet holds the inputs of it."""

import torch
from torch import nn

from tests.networks.concept_networks import dense_bits, dense_or
from ucad.networks import fit_network


def test_before_a_concept_is_computed_the_site_holds_its_inputs():
    rotate = nn.Linear(5, 5)
    with torch.no_grad():
        rotate.weight.copy_(torch.linalg.qr(torch.randn(5, 5, generator=_seeded()))[0])
        rotate.bias.zero_()
    back = nn.Linear(5, 5)
    with torch.no_grad():
        back.weight.copy_(rotate.weight.T)
        back.bias.zero_()
    model = nn.Sequential(rotate, back, dense_or())
    found = fit_network(model, dense_bits(1500), ["0", "2.1", "2.3"])
    first, second = found.gaps
    assert {one.concept for one in first.factors} == {"input[0] input[1]", "input[2]", "input[3]"}
    assert {one.concept for one in second.factors} == {"input[0] input[1]", "input[2] input[3]"}
    assert all(one.is_certified for gap in found.gaps for one in gap.factors)


def _seeded():
    return torch.Generator().manual_seed(0)
