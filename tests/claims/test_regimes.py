"""Interventions that the functions were fitted without are predicted by true graphs only."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.claims.models import SCM, SMALL, System, linear_scm, samples_of
from ucad.claims.answers import Answer
from ucad.claims.regimes import _Functions, _RegimeTests, held_out_regimes

TARGETS = 4 * ((0,), (1,))
"""Each root of Z1 is acted on in four regimes."""


def claim_of(scm, truth=SMALL, targets=TARGETS, n_samples=1800):
    system = System(scm=truth, targets=targets)
    return held_out_regimes(samples_of(scm, system, n_samples=n_samples), 0)


@pytest.mark.parametrize("action", ["random", "constant"])
def test_a_true_model_predicts_interventions_it_was_not_fitted_to(action):
    system = System(targets=2 * ((0,), (1,), (2,), (3,)), action=action)
    claim = held_out_regimes(samples_of(SCM, system, n_samples=1800), 0)
    assert claim.answer is Answer.YES
    assert claim.details["explained"] > 0.9 > claim.details["explained_by_permuted"]
    assert claim.details["noise"] < claim.details["no_change"]
    assert "8 interventions" in claim.text


def test_dependence_without_effects_is_refused():
    """Eight pairs X → Z → Y that only share a hidden cause: acting on X does nothing to Y."""
    Q, R = np.eye(16, 8), np.eye(16, 8, k=-8)
    loading = np.ones(16)
    idle = System(
        scm=linear_scm(Q, R, weight=0.0), loading=loading, targets=tuple((i,) for i in range(8))
    )
    claim = held_out_regimes(samples_of(linear_scm(Q, R), idle, n_samples=900), 0)
    assert claim.answer is Answer.NO
    assert claim.details["explained"] < 0


def test_a_true_model_of_one_factor_is_not_held_against_itself():
    """All children have the same factor: permuting them gives the same graph."""
    claim = claim_of(SMALL)
    assert claim.details["explained_by_permuted"] > 0.9
    assert claim.answer is Answer.YES


@pytest.mark.parametrize(
    ("model", "permuted", "answer"),
    [
        (0.10, 1.0, Answer.YES),
        (0.05, 1.0, Answer.YES),
        (0.35, 1.0, Answer.PARTLY),
        (0.80, 1.0, Answer.NO),
        (0.20, 0.2, Answer.NO),
    ],
    ids=["as good as noise", "better than noise", "in between", "poor", "no better than permuted"],
)
def test_the_answer_follows_from_the_share_explained(monkeypatch, model, permuted, answer):
    errors = {"model": model, "noise": 0.1, "no_change": 1.1, "permuted": permuted}
    monkeypatch.setattr(_RegimeTests, "errors", lambda self, rng: errors)
    monkeypatch.setattr(_RegimeTests, "regimes", list(range(8)))
    claim = held_out_regimes(samples_of(SCM, System(), n_samples=100), 0)
    assert claim.answer is answer
    assert claim.details["explained"] == pytest.approx(1 - max(model - 0.1, 0))


@pytest.mark.parametrize(
    ("targets", "n_samples"),
    [(3 * ((0,), (1,)), 1800), (TARGETS, 150), (8 * ((3,),), 1800)],
    ids=["too few regimes", "too few samples", "nothing below the targets"],
)
def test_what_cannot_be_tested_is_not_known(targets, n_samples):
    claim = claim_of(SMALL, targets=targets, n_samples=n_samples)
    assert claim.answer is Answer.UNKNOWN
    assert "Not tested" in claim.text


def test_interventions_that_change_next_to_nothing_show_nothing():
    idle = linear_scm(SMALL.graph.Q, SMALL.graph.R, weight=0.05, noise=1.0)
    claim = claim_of(idle, truth=idle)
    assert claim.answer is Answer.UNKNOWN
    assert "change too little" in claim.text


def test_regimes_count_if_something_free_is_below_their_targets():
    system = System(scm=SMALL, targets=((0,), (3,), (0, 2, 3), (1, 2)))
    tests = _RegimeTests(samples_of(SMALL, system, n_samples=500))
    assert tests.regimes == [1, 4]
    rows = np.flatnonzero(tests.samples.regime == 4)
    assert tests._below(rows).tolist() == [3]


def test_functions_are_solved_in_causal_order():
    """With straight lines in place of the ridges, the solution is that of the model itself."""
    chain = linear_scm([[1, 0], [0, 1], [0, 0]], [[0, 0], [1, 0], [0, 1]], noise=0.0)
    samples = samples_of(chain, System(scm=chain, targets=()), n_samples=400)
    functions = _RegimeTests(samples)._functions(np.ones(400, dtype=bool))
    start = samples.x[:50].copy()
    start[:, 1:] = 99.0  # what has parents is computed, whatever was there
    acted = np.zeros((50, 3), dtype=bool)
    assert isinstance(functions, _Functions)
    np.testing.assert_allclose(functions.solve(start, acted, 0.0), samples.x[:50], atol=0.02)
    acted[:, 1] = True
    start[:, 1] = 1.0
    held = functions.solve(start, acted, 0.0)
    own = samples.mean + samples.sd * held
    made = chain.expected_variables(chain.state_map(torch.from_numpy(own))).numpy()
    assert (held[:, 1] == 1.0).all()
    np.testing.assert_allclose(own[:, 2], made[:, 2], atol=0.02)
