"""What was done to a model is what its findings suggest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

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
from ucad.claims.suggestions import _linear_and_curved, _partial_slope, suggestions
from ucad.claims.weights import Weights

TARGETS = ((0,), (1,), (2,), (3,), (4,))


def kinds(scm, system, *, not_clamped=(), contradicted=(), n_samples=4000):
    samples = samples_of(scm, system, n_samples=n_samples)
    found = suggestions(
        Adequacy(samples), Weights(samples), list(not_clamped), [list(one) for one in contradicted]
    )
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


def without_findings(x, *, not_clamped=(), contradicted=()):
    samples = observed(SMALL, x)
    adequacy = Adequacy(samples)
    adequacy.__dict__["findings"] = ()
    return suggestions(adequacy, Weights(samples), list(not_clamped), list(contradicted))


X = np.random.default_rng(0).standard_normal((300, 5))


def test_what_was_no_clamp_is_named():
    (one,) = without_findings(X, not_clamped=["X3", "X4"])
    assert one.kind == "clamp"
    assert one.text.endswith("(Seen at X3 and X4.)")


def test_contradicted_edges_alone_suggest_a_hidden_cause():
    found = without_findings(X, contradicted=[["X1", "X3"]])
    assert [one.kind for one in found] == ["cause", "edge"]
    assert all(one.text.endswith("(Seen at X3.)") for one in found)


def test_many_equal_values_are_pointed_out_where_they_are_concerned():
    x = X.copy()
    x[:200, 2] = 0.0
    (first, second) = without_findings(x, not_clamped=["X3"])
    assert (first.kind, second.kind) == ("zeros", "clamp")
    assert [one.kind for one in without_findings(x, not_clamped=["X4"])] == ["clamp"]


@pytest.mark.parametrize("acted", [True, False])
def test_the_partial_slope_is_that_of_a_regression_on_all_parents(acted):
    system = System(
        scm=SMALL, targets=((4,),), direct=direct_edge(4, 3, strength=0.8, n_variables=5)
    )
    samples = samples_of(SMALL, system, n_samples=1000)
    slope, error = _partial_slope(samples, 4, 3, acted=acted)
    rows = samples.is_intervened[:, 4] == acted
    columns = np.column_stack([samples.x[rows][:, [4, 0, 1]], np.ones(rows.sum())])
    w = np.linalg.lstsq(columns, samples.residual[rows, 3], rcond=None)[0]
    assert slope == pytest.approx(w[0])
    assert abs(slope) > 10 * error > 0


def test_a_slope_takes_enough_samples():
    samples = samples_of(SMALL, System(scm=SMALL, targets=((4,),)), n_samples=30)
    assert _partial_slope(samples, 4, 3, acted=True) is None
    assert _partial_slope(samples, 0, 3, acted=True) is None


@pytest.mark.parametrize(
    ("left", "is_linear"),
    [(lambda x: x[:, 0] - x[:, 1], True), (lambda x: (x[:, 0] - x[:, 1]) ** 2, False)],
)
def test_the_linear_part_tells_a_missing_factor_from_a_missing_curve(left, is_linear):
    data = System(scm=SMALL, targets=()).draw(1500)
    x = data.x.copy()
    x[:, 3] += 0.5 * left(x)

    class Changed(System):
        def draw(self, n_samples=1500, seed=0):
            return replace(data, x=x)

    samples = samples_of(SMALL, Changed(scm=SMALL, targets=()), n_samples=1500)
    linear, curved = _linear_and_curved(samples, 3)
    assert linear > 10 * curved if is_linear else curved > 10 * linear
    assert max(linear, curved) > 0.05
    assert _linear_and_curved(samples, 0) == (0.0, 0.0)
