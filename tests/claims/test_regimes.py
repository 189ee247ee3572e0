"""Interventions are predicted by true graphs with functions of the right size only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.claims.models import SCM, SMALL, Q, R, System, linear_scm, refitted, samples_of
from ucad.claims.answers import Answer
from ucad.claims.regimes import _RegimeTests, held_out_regimes, predicted_effects

TARGETS = 4 * ((0,), (1,))
"""Each root of Z1 is acted on in four regimes."""

BOTH = pytest.mark.parametrize("claim_of", [predicted_effects, held_out_regimes])


@BOTH
@pytest.mark.parametrize("action", ["random", "constant"])
def test_a_true_model_predicts_interventions(claim_of, action):
    system = System(targets=2 * ((0,), (1,), (2,), (3,)), action=action)
    claim = claim_of(samples_of(SCM, system, n_samples=1800), 0)
    assert claim.answer is Answer.YES
    assert claim.details["explained"] > 0.9 > claim.details["explained_by_permuted"]
    assert "8 interventions" in claim.text


def test_dependence_without_effects_is_refused():
    """Eight pairs X → Z → Y that only share a hidden cause: acting on X does nothing to Y."""
    Q, R = np.eye(16, 8), np.eye(16, 8, k=-8)
    truth, wrong = linear_scm(Q, R, weight=0.0), linear_scm(Q, R)
    system = System(scm=truth, loading=np.ones(16), targets=tuple((i,) for i in range(8)))
    claim = predicted_effects(samples_of(wrong, system, n_samples=1800), 0)
    assert claim.answer is Answer.NO
    assert "do nothing that could be seen" in claim.text


@BOTH
def test_two_factors_that_are_exchanged_are_refused(claim_of):
    """X1, X2 → Z1 → X7, X8 and X3, X4 → Z2 → X5, X6, the other way round than in the truth."""
    Q_apart = np.where(np.arange(8)[:, None] == 4, False, Q)
    truth, exchanged = linear_scm(Q_apart, R), linear_scm(Q_apart, R[:, ::-1])
    system = System(scm=truth, targets=2 * ((0,), (1,), (2,), (3,)))
    exchanged = refitted(exchanged, system.draw(1800))
    claim = claim_of(samples_of(exchanged, system, n_samples=1800), 0)
    assert claim.answer is Answer.NO


@pytest.mark.parametrize("size", [0.4, 1.8])
def test_functions_of_the_wrong_size_are_not_claimed(size):
    wrong = replace(
        SCM,
        variable_mechanism=replace(
            SCM.variable_mechanism, weight=size * SCM.variable_mechanism.weight
        ),
    )
    samples = samples_of(wrong, System(), n_samples=1800)
    assert predicted_effects(samples, 0).answer is not Answer.YES


def test_a_true_model_of_one_factor_is_not_held_against_itself():
    """All children have the same factor: permuting them gives the same graph."""
    system = System(scm=SMALL, targets=TARGETS)
    claim = held_out_regimes(samples_of(SMALL, system, n_samples=1800), 0)
    assert claim.details["explained_by_permuted"] > 0.9
    assert claim.answer is Answer.YES


def test_effects_on_what_the_model_has_not_below_the_target_count_as_missed():
    """The model has no edges into X6, so it cannot predict it."""
    without = linear_scm(Q, np.where(np.arange(8)[:, None] == 5, False, R))
    system = System(targets=2 * ((0,), (1,)))
    full, less = (
        predicted_effects(samples_of(scm, system, n_samples=1800), 0) for scm in (SCM, without)
    )
    assert less.details["missed"] > full.details["missed"] + 0.1 * full.details["signal"]


@pytest.mark.parametrize(
    ("targets", "n_samples"),
    [(3 * ((0,), (1,)), 1800), (TARGETS, 150)],
    ids=["too few regimes", "too few samples"],
)
def test_what_cannot_be_left_out_is_not_known(targets, n_samples):
    system = System(scm=SMALL, targets=targets)
    claim = held_out_regimes(samples_of(SMALL, system, n_samples=n_samples), 0)
    assert claim.answer is Answer.UNKNOWN
    assert "Not tested" in claim.text


@BOTH
def test_interventions_that_change_next_to_nothing_show_nothing(claim_of):
    idle = linear_scm(SMALL.graph.Q, SMALL.graph.R, weight=0.02, noise=1.0)
    system = System(scm=idle, targets=TARGETS)
    claim = claim_of(samples_of(idle, system, n_samples=1800), 0)
    assert claim.answer is Answer.UNKNOWN
    assert "change too little" in claim.text


def test_without_interventions_predictions_are_not_known():
    samples = samples_of(SCM, System(targets=()), n_samples=600)
    assert predicted_effects(samples, 0).answer is Answer.UNKNOWN


def test_functions_are_solved_in_causal_order():
    """Without noise what follows from what is set is the sample itself."""
    chain = linear_scm([[1, 0], [0, 1], [0, 0]], [[0, 0], [1, 0], [0, 1]], noise=0.0)
    samples = samples_of(chain, System(scm=chain, targets=((0,), (1,))), n_samples=600)
    tests, rng = _RegimeTests(samples, np.arange(600), 0), np.random.default_rng(0)
    rows = np.flatnonzero(samples.is_intervened.any(axis=1))
    for function, far in [(tests.own, 1e-8), (tests.fitted(np.ones(600, dtype=bool)), 0.05)]:
        solved = tests.solve(function, rows, rng)
        np.testing.assert_allclose(solved[:, 2], samples.x[rows, 2], atol=far)


def test_what_is_not_acted_on_forgets_its_own_value():
    """A root that an unknown effect has moved must not predict itself."""
    samples = samples_of(SCM, System(targets=((0,),)), n_samples=600)
    rows = np.flatnonzero(samples.is_intervened[:, 0])
    tests = _RegimeTests(samples, np.arange(600), 0)
    solved = tests.solve(tests.own, rows, np.random.default_rng(0))
    assert (solved[:, 0] == samples.x[rows, 0]).all()
    assert abs(np.corrcoef(solved[:, 1], samples.x[rows, 1])[0, 1]) < 0.3


def test_the_number_of_samples_predicted_is_bounded(monkeypatch):
    monkeypatch.setattr("ucad.claims.regimes.MAX_ENTRIES", 8 * 100)
    samples = samples_of(SCM, System(), n_samples=900)
    tests = _RegimeTests(samples, np.arange(900), 0)
    assert 0 < sum(len(tests.rows_of[label]) for label in tests.regimes) <= 100
