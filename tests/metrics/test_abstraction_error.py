"""The field's yardstick finds a true model exact and a wrong one wrong."""

from dataclasses import replace

import pytest

from tests.claims.models import SCM, linear_scm
from ucad.errors import InvalidInputError
from ucad.metrics import abstraction_error
from ucad.metrics.abstraction_error import abstraction_errors, is_available
from ucad.scm import LinearMechanism

needs_the_package = pytest.mark.skipif(
    not is_available(), reason="causal-abstraction-eval is not installed"
)
EXACT = 1e-12


@needs_the_package
def test_a_true_model_has_no_error_either_way():
    found = abstraction_errors(SCM, SCM, n_samples=40)
    assert (found.up < EXACT, found.down < EXACT, found.skipped) == (True, True, 0.0)


@needs_the_package
def test_a_wrong_size_of_an_effect_is_an_error_both_ways():
    F_X = SCM.variable_mechanism
    half = replace(SCM, variable_mechanism=LinearMechanism(F_X.weight / 2, F_X.bias))
    found = abstraction_errors(half, SCM, n_samples=40)
    assert min(found.up, found.down) > 0.01


@needs_the_package
def test_an_effect_on_a_factor_that_the_model_lacks_is_an_error():
    lacking = linear_scm(
        [[1, 0], [1, 0], [0, 1], [0, 1], [0, 0], [0, 0], [0, 0], [0, 0]], SCM.graph.R
    )
    found = abstraction_errors(lacking, SCM, n_samples=40)
    assert (found.up, found.down) == (None, None), "no factor acts on another: nothing to compare"


@needs_the_package
def test_factors_that_read_the_same_variables_are_said_to_be_skipped():
    shared = linear_scm(
        [[1, 0], [1, 1], [0, 1], [0, 0], [0, 0]], [[0, 0], [0, 0], [0, 0], [1, 0], [0, 1]]
    )
    assert abstraction_errors(shared, shared, n_samples=20).skipped == 1.0


def test_models_of_other_variables_and_a_missing_package_are_refused(monkeypatch):
    other = linear_scm([[1], [1], [0]], [[0], [0], [1]])
    if is_available():
        with pytest.raises(InvalidInputError, match="different variables"):
            abstraction_errors(other, SCM)
    monkeypatch.setattr(abstraction_error, "is_available", lambda: False)
    with pytest.raises(InvalidInputError, match="pip install"):
        abstraction_errors(SCM, SCM)
