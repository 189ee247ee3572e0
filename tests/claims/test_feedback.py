"""What an effect is made of leaves the noise of its causes alone, unless there is feedback."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.claims.models import SCM, System, answers, certificate, direct_edge, refitted, samples_of
from ucad.claims.answers import Answer
from ucad.claims.feedback import feedback, without_own_noise


def back(claim):
    return [(row["effect"], row["cause"]) for row in claim.details["back"]]


@pytest.mark.parametrize("action", ["random", "constant"])
def test_true_models_have_none(action):
    for seed in range(4):
        system = System(action=action)
        claim = feedback(samples_of(refitted(SCM, system.draw(3000, seed)), system, seed=seed))
        assert claim.answer is Answer.YES
    assert claim.details["n_pairs"] == 14


@pytest.mark.parametrize("action", ["random", "constant"])
@pytest.mark.parametrize("strength", [0.15, -0.15])
def test_weak_feedback_is_seen_and_named(action, strength):
    """X6, a child of Z1, acts back on X1, its parent, half as much as single tests see."""
    system = System(direct=direct_edge(5, 0, strength), action=action)
    claim = feedback(samples_of(refitted(SCM, system.draw()), system))
    assert claim.answer is Answer.NO
    assert back(claim)[0] == ("X6", "X1")
    assert claim.details["back"][0]["is_heard"]


def test_weak_feedback_refuses_the_graph_and_is_suggested():
    system = System(direct=direct_edge(5, 0, 0.2))
    found = certificate(refitted(SCM, system.draw()), system)
    assert answers(found)["graph"] == "no"
    assert "feedback" in [one.kind for one in found.suggestions][:2]


def test_a_hidden_cause_of_both_ends_is_not_heard():
    """X1 and X6 share a source: the residuals go together, and nothing else does."""
    loading = np.zeros(8)
    loading[[0, 5]] = 0.5
    claim = feedback(samples_of(SCM, System(loading=loading)))
    (row,) = (row for row in claim.details["back"] if row["effect"] == "X6")
    assert row["cause"] == "X1"
    assert not row["is_heard"]


def test_regimes_that_are_known_to_listen_are_left_out_below_the_cause():
    samples = samples_of(SCM, System(action="shift", targets=((5,), (7,))))
    samples.x[samples.is_intervened] *= 0.3
    assert feedback(samples, samples.regime_names).answer is Answer.YES


def test_few_samples_say_nothing():
    assert feedback(samples_of(SCM, System(), n_samples=200)).answer is Answer.UNKNOWN


def test_unrelated_variables_have_no_feedback():
    alone = replace(SCM, graph=SCM.graph)
    samples = samples_of(alone, System(), n_samples=400)
    samples.__dict__["is_descendant"] = np.eye(8, dtype=bool)
    claim = feedback(samples)
    assert (claim.answer, claim.details["n_pairs"]) == (Answer.YES, 0)


def test_without_its_noise_a_cause_leaves_everything_else_where_it_was():
    """By the true model: what is not below stays, what is below loses its share of the noise."""
    system = System(targets=((4,),))
    samples = samples_of(SCM, system, n_samples=600)
    rows = np.arange(len(samples.x))
    x, below = without_own_noise(samples, 0, rows)
    assert list(below) == [4, 5, 6, 7]
    assert np.allclose(x[:, 1:4], samples.x[:, 1:4])
    assert np.allclose(x[:, 0], x[0, 0])
    acted = samples.is_intervened[:, 4]
    assert np.allclose(x[acted, 4], samples.x[acted, 4])
    step = (samples.original(rows)[:, 0] - samples.mean[0] - x[:, 0] * samples.sd[0]) * 0.64
    assert np.allclose(((samples.x - x) * samples.sd)[:, 5], step)
    second = np.where(acted, 0.0, step * 0.64)
    assert np.allclose(((samples.x - x) * samples.sd)[:, 7], second)
