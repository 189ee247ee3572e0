"""What is set from outside moves only what is below it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.claims.models import SCM, System, direct_edge, samples_of
from ucad.claims.answers import Answer
from ucad.claims.upstream import upstream


def test_true_models_move_nothing_above():
    for seed in range(3):
        claim = upstream(samples_of(SCM, System(), n_samples=3000, seed=seed))
        assert claim.answer is Answer.YES
    assert claim.details["n_acted_on"] == 8


@pytest.mark.parametrize("strength", [0.3, -0.3])
def test_weak_feedback_is_seen_where_the_effect_is_set_whatever_its_sign(strength):
    """X6, a child of Z1, acts back on X1, its parent."""
    system = System(direct=direct_edge(5, 0, strength))
    claim = upstream(samples_of(SCM, system))
    assert claim.answer is Answer.NO
    moved = {(row["cause"], row["variable"]) for row in claim.details["moved"]}
    assert ("X6", "X1") in moved
    assert moved <= {("X6", "X1"), ("X2", "X1")}, "X2 reaches X1 through X6, nothing else does"


def test_an_effect_on_another_branch_is_seen():
    claim = upstream(samples_of(SCM, System(direct=direct_edge(2, 5, 0.4))))
    assert ("X3", "X6") in [(row["cause"], row["variable"]) for row in claim.details["moved"]]


def test_fixed_values_and_no_interventions_show_nothing():
    for system in (System(targets=()), System(action="constant")):
        claim = upstream(samples_of(SCM, system, n_samples=900))
        assert claim.answer is Answer.UNKNOWN


def test_what_is_acted_on_together_is_no_effect():
    """X1 and X2 are set in the same samples, to values that go together."""
    samples = samples_of(SCM, System(targets=((0, 1),)), n_samples=900)
    rows = samples.is_intervened[:, 0]
    samples.x[rows, 1] = samples.x[rows, 0]
    claim = upstream(samples)
    assert not any(row["variable"] in ("X1", "X2") for row in claim.details["moved"])
    assert np.isfinite([row["P"] for row in claim.details["moved"]]).all()


def test_regimes_that_are_known_to_listen_are_left_out():
    samples = samples_of(SCM, System(action="shift"), n_samples=3000)
    assert upstream(samples).answer is Answer.NO
    assert upstream(samples, samples.regime_names).answer is Answer.UNKNOWN
