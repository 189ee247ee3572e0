"""A fit of counts that runs out of time ends with what there is."""

import warnings

import numpy as np
import pytest

import ucad
from ucad.simulate import world_problem
from ucad.solvers.budget import BudgetEndedError


@pytest.fixture(scope="module")
def counts():
    return world_problem("counts-50", seed=0, n_variables=8, n_factors=1, n_samples=600).train


@pytest.mark.parametrize("seconds", [1e-6, 0.02, 0.1, 0.3])
def test_a_short_budget_is_a_result_and_no_error(counts, seconds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ucad.UCAD(1, noise="counts", max_seconds=seconds).fit(counts)
    assert model.scm_.noise.name == "counts"
    assert np.isfinite(model.score(counts))


def test_time_that_ends_between_two_rounds_leaves_the_model_before(counts, monkeypatch):
    def ends(*_arguments, **_settings):
        raise BudgetEndedError

    monkeypatch.setattr("ucad.solvers.search.count_search.polish", ends)
    monkeypatch.setattr("ucad.solvers.search.count_search.find_causes", ends)
    model = ucad.UCAD(1, noise="counts").fit(counts)
    assert model.graph_.n_factors == 1
