"""scikit-learn's own checks of an estimator: every solver, one factor, two, and as many as fit."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import ucad
from ucad.solvers import SOLVERS, gradient
from ucad.solvers.gradient import solver as gradient_solver

EPOCHS = 4
"""Of training: what is checked is the contract, not the fit."""
QUICK = {"search": (2,)}
"""What `make test` tries besides tests/test_estimator.py, which has one factor and the default."""
MANY_FITS = {
    "check_dtype_object",
    "check_estimators_dtypes",
    "check_estimators_pickle",
    "check_pipeline_consistency",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_transformer_preserve_dtypes",
}
"""Checks that fit again and again: not in `make test`."""


class Layered(ucad.UCAD):
    """The checks bring tables of any width: the first half of the columns makes the rest."""

    def _as_data(self, X, interventions):
        data = super()._as_data(X, interventions)
        return replace(data, layer_of=np.arange(data.n_variables) * 2 // data.n_variables)


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


def _cases():
    for name, entry in SOLVERS.items():
        kind = Layered if entry.needs_layers else ucad.UCAD
        for n_factors in (1, 2) if entry.needs_layers else (1, 2, "auto"):
            is_quick = n_factors in QUICK.get(name, ())
            for estimator, check in estimator_checks_generator(kind(n_factors, solver=name)):
                label = f"{name}-{n_factors}-{check.func.__name__}"
                is_here = is_quick and check.func.__name__ not in MANY_FITS
                marks = [] if is_here else [pytest.mark.hostile_full]
                yield pytest.param(estimator, check, id=label, marks=marks)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("estimator", "check"), list(_cases()))
def test_scikit_learns_own_checks_hold_for_every_solver(estimator, check):
    try:
        check(estimator)
    except ucad.errors.InvalidInputError as error:
        if "at most as many as the earlier layer has variables, 1" not in str(error):
            raise
        pytest.skip("the check's table has two columns: no two factors fit between them")


@pytest.mark.parametrize("name", [name for name, entry in SOLVERS.items() if entry.needs_layers])
def test_solvers_for_dense_layers_say_that_they_do_not_count_factors(name):
    x = np.random.default_rng(0).normal(size=(40, 6))
    with pytest.raises(ucad.errors.InvalidInputError, match="Say how many factors to find"):
        Layered("auto", solver=name).fit(x)
