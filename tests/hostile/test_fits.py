"""Small random problems: every solver fits them or refuses them, and never gives NaN."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import ucad
from ucad.errors import UcadError
from ucad.solvers import SOLVERS, gradient
from ucad.solvers.gradient import solver as gradient_solver

EPOCHS = 12
"""Of training; the preset of the paper takes minutes for a handful of numbers."""


@pytest.fixture(autouse=True)
def _short_training(monkeypatch):
    original = gradient.preset

    def short(*arguments):
        config = original(*arguments)
        training = replace(
            config.training,
            learning_rates=config.training.learning_rates[:1],
            penalty_growths=config.training.penalty_growths[:1],
            warm_up_epochs=(0,),
            n_seeds=1,
            epochs=EPOCHS,
        )
        return replace(config, training=training)

    monkeypatch.setattr(gradient_solver, "preset", short)


@st.composite
def problems(draw):
    """A small matrix of odd numbers, clamps or none, and a number of factors."""
    n_samples, n_variables = draw(st.integers(2, 30)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = draw(
        st.sampled_from(["normal", "few values", "collinear", "scales", "heavy", "constant"])
    )
    x = rng.normal(size=(n_samples, n_variables))
    if kind == "few values":
        x = np.round(x)
    elif kind == "collinear":
        x[:, -1] = x[:, 0]
    elif kind == "scales":
        x *= 10.0 ** rng.integers(-90, 90, n_variables)
    elif kind == "heavy":
        x = rng.standard_cauchy(size=x.shape) ** 3
    elif kind == "constant":
        x[:, 0] = 1.0
    clamps = None
    if draw(st.booleans()):
        clamps = rng.random(x.shape) < draw(st.sampled_from([0.1, 0.5]))
    layers = rng.permutation(np.arange(n_variables) * 2 // n_variables)
    return x, clamps, layers, draw(st.integers(1, 2))


def check_fit(problem, solver: str) -> None:
    """Fits, and looks at every number that comes out."""
    x, clamps, layers, n_factors = problem
    model = ucad.UCAD(n_factors=n_factors, solver=solver, layers=layers if n_factors else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(x, interventions=clamps)
        except UcadError:
            return
    assert np.isfinite(model.transform(x)).all()
    assert np.isfinite(model.score(x))
    assert str(model.status_)
    assert model.certificate_ is not None


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=2, phases=[Phase.generate])
@given(problem=problems())
def test_a_small_random_problem_is_fitted_or_refused(solver, problem):
    check_fit(problem, solver)


@pytest.mark.hostile_full
@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=45, phases=[Phase.generate])
@given(problem=problems())
def test_many_small_random_problems_are_fitted_or_refused(solver, problem):
    check_fit(problem, solver)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_samples", [2, 3, 6])
@pytest.mark.parametrize("n_variables", [2, 3, 5])
def test_fewer_samples_than_a_regression_needs_are_fitted(n_samples, n_variables):
    x = np.random.default_rng(n_samples).normal(size=(n_samples, n_variables))
    model = ucad.UCAD(n_factors=1, solver="search").fit(x)
    assert np.isfinite(model.transform(x)).all()
