"""What a solver is given, checked before any work."""

from dataclasses import replace

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.scm.families import AFFINE, NETWORK, SPLINE
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import ROUGH, THOROUGH


def data(scale=1.0):
    x = scale * np.random.default_rng(0).standard_normal((100, 4))
    return InterventionalData.from_arrays(x)


def problem(*families, n_factors=2):
    return Problem.of(data(), n_factors, families)


def test_an_edge_costs_twice_the_log_of_the_samples():
    assert problem(AFFINE, AFFINE).penalty == pytest.approx(2 * np.log(100))


@pytest.mark.parametrize("n_factors", [0, 5, 9])
def test_there_are_no_more_factors_than_variables(n_factors):
    with pytest.raises(InvalidInputError, match="'n_factors' must be at least 1 and at most"):
        problem(AFFINE, AFFINE, n_factors=n_factors)


def test_data_in_other_units_are_refused_with_what_to_do():
    with pytest.raises(InvalidInputError, match=r"Use data.standardised\(\)"):
        Problem.of(data(100.0), 2, (AFFINE, AFFINE))
    Problem.of(data(100.0).standardised(), 2, (AFFINE, AFFINE))


def test_a_prior_about_other_variables_is_refused():
    prior = PriorKnowledge(required_parent=np.zeros((5, 2), dtype=bool))
    with pytest.raises(InvalidInputError, match="must be about 4 variables and 2"):
        Problem.of(data(), 2, (AFFINE, AFFINE), prior=prior)


@pytest.mark.parametrize(
    ("families", "is_linear", "reading", "linear_factors"),
    [
        ((AFFINE, AFFINE), True, AFFINE, False),
        ((NETWORK, AFFINE), False, NETWORK, False),
        ((AFFINE, NETWORK), False, NETWORK, True),
        ((SPLINE, NETWORK), False, SPLINE, False),
    ],
)
def test_variables_are_read_by_the_family_that_bends(families, is_linear, reading, linear_factors):
    made = problem(*families)
    assert made.is_linear == is_linear
    assert made.reading_family is reading
    assert made.has_linear_factors == linear_factors
    assert made.efforts() == ((THOROUGH if is_linear else ROUGH), THOROUGH)


def test_a_fitter_has_the_price_floor_and_seed_of_the_problem():
    made = replace(problem(AFFINE, AFFINE), seed=7)
    fitter = made.fitter(NETWORK, THOROUGH)
    assert (fitter.penalty, fitter.floor, fitter.seed) == (made.penalty, made.floor, 7)
    assert (fitter.family, fitter.effort) == (NETWORK, THOROUGH)
