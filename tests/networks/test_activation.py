"""Values that units can have."""

import numpy as np
import pytest
import torch

from ucad.networks.activation import Activation


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0.0, 2.0], Activation.RELU),
        ([1e-9, 2.0], Activation.IDENTITY),
        ([-1e-9, 0.0], Activation.IDENTITY),
    ],
)
def test_only_a_smallest_value_of_exactly_zero_makes_a_relu(values, kind):
    assert Activation.of(np.array(values)) is kind
    assert Activation.of(torch.tensor(values)) is kind


def test_values_are_moved_to_the_nearest_that_units_can_have():
    values = torch.tensor([-2.0, 0.0, 3.0])
    assert Activation.RELU(values).tolist() == [0.0, 0.0, 3.0]
    assert Activation.IDENTITY(values) is values
