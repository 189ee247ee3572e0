"""The paper's learner as one of the solvers."""

import pytest

from ucad.errors import InvalidInputError
from ucad.scm.families import AFFINE, NETWORK
from ucad.solvers.gradient.solver import FAST, PAPER


def test_mechanisms_are_linear_unless_networks_are_asked_for():
    assert FAST.classes("auto", "auto") == ((AFFINE, AFFINE),)
    assert PAPER.classes("mlp", "auto") == ((NETWORK, AFFINE),)


def test_a_family_that_it_cannot_train_is_refused():
    with pytest.raises(InvalidInputError, match="'variable_mechanism' parameter must be linear or"):
        FAST.classes("auto", "spline")
