"""The protocols that a family meets."""

import pytest
import torch

from ucad.scm.families import FAMILIES, AffineMap, Family


def test_undoing_an_affine_map_gives_back_what_was_there():
    outer = AffineMap(torch.tensor([2.0, -0.5]), torch.tensor([1.0, 3.0]))
    v = torch.tensor([[1.0, 2.0], [-3.0, 0.5]])
    back = outer.inverse()
    torch.testing.assert_close(back.scale * (outer.scale * v + outer.shift) + back.shift, v)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_entry_meets_the_protocol_of_a_family(family):
    assert isinstance(family, Family)


def test_what_is_no_family_does_not_meet_it():
    assert not isinstance(object(), Family)
