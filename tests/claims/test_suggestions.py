"""What was done to a model is what its findings suggest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.claims.models import (
    SMALL,
    System,
    direct_edge,
    linear_scm,
    observed,
    refitted,
    samples_of,
)
from ucad.claims.adequacy import Adequacy
from ucad.claims.suggestions import Evidence, suggestions
from ucad.claims.weights import Weights

TARGETS = ((0,), (1,), (2,), (3,), (4,))


def kinds(scm, system, *, not_clamped=(), contradicted=(), n_samples=4000):
    samples = samples_of(scm, system, n_samples=n_samples)
    evidence = Evidence(not_clamped=list(not_clamped), contradicted=contradicted)
    found = suggestions(Adequacy(samples), Weights(samples), evidence)
    weights = [one.weight for one in found]
    assert weights == sorted(weights, reverse=True)
    return [one.kind for one in found]


def test_a_true_model_suggests_nothing():
    assert kinds(SMALL, System(scm=SMALL, targets=TARGETS)) == []


def test_a_direct_edge_suggests_an_edge():
    direct = direct_edge(4, 3, strength=0.8, n_variables=5)
    found = kinds(SMALL, System(scm=SMALL, targets=TARGETS, direct=direct))
    assert "edge" in found[:2]
    assert "class" not in found


def test_a_hidden_common_cause_suggests_a_cause():
    system = System(scm=SMALL, targets=TARGETS, loading=0.9 * np.array([1.0, 0, 0, 1, 0]))
    assert "cause" in kinds(refitted(SMALL, system.draw(4000)), system)[:2]


def test_a_missing_factor_suggests_a_factor():
    truth = linear_scm(
        [[1, 0], [1, 1], [0, 0], [0, 0], [0, 1]], [[0, 0], [0, 0], [1, 0], [1, 1], [0, 0]]
    )
    system = System(scm=truth, targets=TARGETS)
    assert "factor" in kinds(refitted(SMALL, system.draw(4000)), system)[:2]


def test_a_wrong_shape_suggests_another_class():
    system = System(scm=SMALL, targets=TARGETS, shape=lambda made: np.tanh(2 * made) + made**2 / 3)
    assert kinds(refitted(SMALL, system.draw(4000)), system) == ["class"]


def test_a_square_of_what_is_no_parent_suggests_another_class_of_a_linear_model():
    class Bent(System):
        def draw(self, n_samples=4000, seed=0):
            data = super().draw(n_samples, seed)
            bent = np.where(data.is_intervened[:, 3], 0.0, 0.5 * data.x[:, 4] ** 2)
            return replace(data, x=data.x + bent[:, None] * (np.arange(5) == 3))

    assert kinds(SMALL, Bent(scm=SMALL, targets=TARGETS))[0] == "class"


def without_findings(x, **evidence):
    samples = observed(SMALL, x)
    adequacy = Adequacy(samples)
    adequacy.__dict__["findings"] = ()
    return suggestions(adequacy, Weights(samples), Evidence(**evidence))


X = np.random.default_rng(0).standard_normal((300, 5))


def test_what_was_no_clamp_is_named():
    (one,) = without_findings(X, not_clamped=["X3", "X4"])
    assert one.kind == "clamp"
    assert one.text.endswith("(Seen at X3 and X4.)")


def test_contradicted_edges_alone_suggest_a_hidden_cause():
    found = without_findings(X, contradicted=[["X1", "X3"]])
    assert [one.kind for one in found] == ["cause", "edge"]
    assert all(one.text.endswith("(Seen at X3.)") for one in found)


def test_effects_on_their_own_causes_suggest_feedback():
    back = [{"effect": "X3", "cause": "X1", "is_heard": True}]
    (one,) = without_findings(X, back=back)
    assert one.kind == "feedback"
    assert one.text.endswith("(Seen at X3 on X1.)")


def test_noise_in_common_alone_may_be_a_hidden_cause_too():
    back = [{"effect": "X3", "cause": "X1", "is_heard": False}]
    found = without_findings(X, back=back, noisy=["X3", "X1"])
    assert [one.kind for one in found] == ["cause", "feedback"]


def test_regimes_that_move_something_without_targets_come_before_all_but_clamps():
    evidence = {"silent": ["U1"], "noisy": ["Z1"], "not_clamped": ["X3"]}
    found = without_findings(X, **evidence)
    assert [one.kind for one in found] == ["clamp", "cause", "regime"]
    assert "U1" in found[1].text


def test_many_equal_values_are_pointed_out_where_they_are_concerned():
    x = X.copy()
    x[:200, 2] = 0.0
    (first, second) = without_findings(x, not_clamped=["X3"])
    assert (first.kind, second.kind) == ("zeros", "clamp")
    assert [one.kind for one in without_findings(x, not_clamped=["X4"])] == ["clamp"]
