"""A fitted estimator and its run folder are one and the same."""

from dataclasses import replace

import numpy as np
import pytest

import ucad
from ucad.saving import restore, run_of, settings_of

SETTINGS = {"factor_mechanism": "linear", "variable_mechanism": "linear", "random_state": 3}


@pytest.fixture(scope="module")
def model():
    x = np.random.default_rng(0).normal(size=(80, 4))
    x[:, 2:] += x[:, :1] + x[:, 1:2]
    return ucad.UCAD(n_factors=1, **SETTINGS).fit(x)


def test_an_estimator_is_restored_with_all_that_it_had(model):
    run = run_of(model)
    again = ucad.UCAD(**settings_of(run, model.get_params(deep=False)))
    restore(again, run)
    x = np.random.default_rng(1).normal(size=(5, 4))
    np.testing.assert_array_equal(again.transform(x), model.transform(x))
    assert again.score(x) == model.score(x)
    assert again.graph_ == model.graph_
    assert again.status_ == model.status_
    assert again.certificate_ == model.certificate_
    assert again.n_features_in_ == 4
    assert again.get_params(deep=False) == model.get_params(deep=False)


def test_settings_of_other_versions_and_what_no_file_holds_are_left_out(model):
    run = replace(run_of(model), settings={"n_factors": 2, "speed": "high", "prior": "a.toml"})
    found = settings_of(run, model.get_params(deep=False))
    assert found["n_factors"] == 2
    assert "speed" not in found
    assert found["prior"] is None
    assert ucad.UCAD(**found).n_factors == 2


def test_changing_what_was_restored_does_not_change_the_run(model):
    run = run_of(model)
    again = ucad.UCAD(**SETTINGS)
    restore(again, run)
    again.data_["fingerprint"] = "changed"
    assert run.data["fingerprint"] == model.data_["fingerprint"] != "changed"
