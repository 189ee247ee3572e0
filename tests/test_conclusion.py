"""What a finished fit comes to: the units of the data, and claims on samples it has not seen."""

from dataclasses import replace

import numpy as np
import pytest

import ucad
from tests.consensus.made_fits import CHAIN
from ucad.claims import certify
from ucad.claims.rest import RestComparison
from ucad.conclusion import conclude
from ucad.consensus.auto_fit import fit_known
from ucad.preparation import prepare

LINEAR = {"factor_mechanism": "linear", "variable_mechanism": "linear"}


@pytest.fixture(scope="module")
def data():
    return ucad.InterventionalData.from_arrays(CHAIN.sample(300, seed=4).x.numpy())


def fitted(data):
    """What a fit starts from, and what the solver returns."""
    ready = prepare(ucad.UCAD(n_factors=2, **LINEAR), data)
    train, validation = ready.standardised
    return ready, fit_known(train, ready.settings, validation=validation)[0]


@pytest.fixture(scope="module")
def ended(data):
    ready, result = fitted(data)
    return ready, result, conclude(result, ready)


def rows(part):
    return {row.tobytes() for row in np.asarray(part.x)}


def test_samples_that_claims_are_tested_on_are_not_handed_on(ended, monkeypatch):
    ready, result, _ = ended
    train, validation, _ = ready.parts
    half = len(validation) // 2
    kept, unseen = validation.select(np.arange(half)), validation.select(np.arange(half, 2 * half))
    parted = replace(ready, parts=ready.parts._replace(validation=kept, unseen=unseen))
    asked = []
    original = certify
    monkeypatch.setattr(
        "ucad.conclusion.certify", lambda *a, **o: asked.append(o) or original(*a, **o)
    )
    known = conclude(result, parted).known
    assert rows(known) == rows(train) | rows(kept)
    assert rows(asked[0]["held_out"]) == rows(unseen)
    assert not rows(known) & rows(unseen)


def test_factors_have_mean_zero_and_variance_one_on_the_samples_learned_from(ended):
    ready, _, found = ended
    z = found.scm.state_map(ready.parts[0].x).numpy()
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(z.std(axis=0), 1.0)


def test_the_likelihood_is_that_of_the_solver_but_for_the_units(ended):
    """log p(x) = log p(standardised x) − Σ log scale, the same for every sample."""
    ready, result, found = ended
    part = ready.parts[1]
    own = result.scm.log_likelihood(part.standardised(ready.scaling).x, variance_floor=1e-30)
    there = found.scm.log_likelihood(part.x, variance_floor=1e-30)
    np.testing.assert_allclose(own - there, np.log(ready.scaling.scale).sum(), atol=1e-6)


@pytest.mark.parametrize("is_worse", [True, False])
def test_what_samples_that_were_not_read_say_is_told_with_advice_if_it_is_bad(
    ended, monkeypatch, is_worse
):
    ready, result, _ = ended
    told = RestComparison("The rest is as it is.", is_worse)
    monkeypatch.setattr("ucad.conclusion.compared_with_rest", lambda *_: told)
    status = conclude(result, ready).result.status
    assert status.reason == f"{result.status.reason} The rest is as it is."
    assert any("raise the memory" in advice for advice in status.advice) == is_worse


def test_a_conclusion_is_in_the_units_of_the_data(data):
    doubled = ucad.InterventionalData.from_arrays(2 * data.x, data.is_intervened)
    model = ucad.UCAD(n_factors=2, factor_mechanism="linear", variable_mechanism="linear")
    found = []
    for given in (data, doubled):
        ready = prepare(model, given)
        train, validation = ready.standardised
        result, _ = fit_known(train, ready.settings, validation=validation)
        found.append(conclude(result, ready))
    one, other = found
    z = one.scm.state_map(data.x)
    np.testing.assert_allclose(z, other.scm.state_map(doubled.x), atol=1e-6)
    expected = (one.scm.expected_variables(z), other.scm.expected_variables(z))
    np.testing.assert_allclose(2 * expected[0], expected[1], atol=1e-6)
