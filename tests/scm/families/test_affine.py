"""What only affine functions claim; what all families do is in test_families.py."""

import numpy as np
import torch

from ucad.scm.families import AFFINE, EMPTY, Affine, LinearMechanism


def test_the_empty_function_is_zero_everywhere():
    assert (EMPTY.values(np.ones((3, 2))) == 0).all()
    assert len(EMPTY.parents) == 0


def test_a_linear_mechanism_has_one_row_of_weights_per_function():
    functions = [Affine(np.array([2, 0]), np.array([3.0, 4.0]), 0.5), EMPTY]
    mechanism = AFFINE.mechanism(functions, 3)
    assert mechanism.weight.tolist() == [[4.0, 0.0, 3.0], [0.0, 0.0, 0.0]]
    assert mechanism.bias.tolist() == [0.5, 0.0]


def test_its_lipschitz_constant_is_attained():
    mechanism = LinearMechanism(torch.tensor([[3.0, 4.0]]), torch.zeros(1))
    along = torch.tensor([[0.0, 0.0], [0.6, 0.8]])
    made = mechanism(along)[:, 0]
    assert float(made[1] - made[0]) == float(mechanism.lipschitz()[0])


def test_values_keep_the_precision_of_the_samples():
    function = Affine(np.array([0]), np.array([2.0]), 1.0)
    assert function.values(np.ones((2, 1), dtype=np.float32)).dtype == np.float32
    assert function.values(np.ones((2, 1))).dtype == np.float64
