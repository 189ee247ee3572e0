"""Residuals go together only if the model misses something that acts on both variables."""

from __future__ import annotations

import numpy as np
import pytest

from tests.claims.models import SCM, SMALL, N, System, certificate, direct_edge, samples_of
from ucad.claims import own_noise as module
from ucad.claims.answers import Answer
from ucad.claims.own_noise import own_noise


def pairs(claim):
    return {(row["first"], row["second"]) for row in claim.details["shared"]}


def test_residuals_of_true_models_do_not_go_together():
    for seed in range(4):
        claim = own_noise(samples_of(SCM, System(), n_samples=3000, seed=seed))
        assert claim.answer is Answer.YES
        assert claim.details["smallest_correlation_seen"] < 0.15


@pytest.mark.parametrize("strength", [0.25, -0.25])
def test_feedback_is_seen_where_neither_end_was_ever_acted_on(strength):
    """X6, a child of Z1, acts back on X1; nothing below X1 may predict it, so only noise tells."""
    system = System(direct=direct_edge(5, 0, strength), targets=((2,), (3,), (6,), (7,)))
    claim = own_noise(samples_of(SCM, system))
    assert claim.answer is Answer.NO
    strongest = claim.details["shared"][0]
    assert "X1" in (strongest["first"], strongest["second"])


def test_feedback_between_variables_never_acted_on_is_refused_and_named():
    system = System(direct=direct_edge(5, 0, 0.25), targets=((2,), (3,), (6,), (7,)))
    found = certificate(SCM, system)
    assert found.may_claim("graph").answer is Answer.NO
    assert {"feedback", "cause"} & {one.kind for one in found.suggestions[:2]}


def test_a_hidden_cause_of_two_unrelated_variables_is_seen():
    loading = np.zeros(8)
    loading[[1, 7]] = 0.3
    claim = own_noise(samples_of(SCM, System(loading=loading)))
    assert claim.answer is Answer.NO
    assert ("X2", "X8") in pairs(claim)


def test_the_wrong_shape_of_F_X_is_no_shared_noise():
    """X5 and X6 bend alike: their residuals go together until the shape is taken off."""
    claim = own_noise(samples_of(SCM, System(shape=lambda made: made + 0.3 * made**2)))
    assert ("X5", "X6") not in pairs(claim)


def test_steps_at_the_same_values_are_no_shared_noise(monkeypatch):
    samples = samples_of(SCM, System(shape=lambda made: np.floor(made)))
    assert own_noise(samples).answer is Answer.YES
    monkeypatch.setattr(module, "PART_ROWS", N)
    assert ("X5", "X6") in pairs(own_noise(samples))


def test_samples_in_which_one_of_the_two_is_acted_on_do_not_count():
    samples = samples_of(SCM, System(targets=((0,), (1,))), n_samples=3000)
    rows = samples.is_intervened[:, 0]
    samples.residual[rows, 0] = samples.residual[rows, 2]
    assert own_noise(samples).answer is Answer.YES


def test_few_samples_are_not_known_and_misfits_of_noiseless_children_are_no_noise():
    assert own_noise(samples_of(SMALL, System(scm=SMALL, targets=()), n_samples=200)).answer is (
        Answer.UNKNOWN
    )
    samples = samples_of(SCM, System(), n_samples=3000)
    samples.residual[:] = 0.05 * samples.residual[:, [0]]
    assert own_noise(samples).answer is Answer.YES


def test_heavy_tails_are_no_shared_noise():
    rng = np.random.default_rng(0)
    samples = samples_of(SCM, System(), n_samples=N)
    samples.residual[:] = rng.standard_t(2, samples.residual.shape)
    assert own_noise(samples).answer is Answer.YES
