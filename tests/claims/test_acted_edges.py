"""Edges into factors show where their variable was acted on, unless they stand in for others."""

from __future__ import annotations

import numpy as np
import pytest

from tests.claims.models import GRAPH, SCM, System, linear_scm, refitted, samples_of
from ucad.claims.acted_edges import shown, shown_where_acted
from ucad.claims.answers import Answer
from ucad.claims.edges import EdgeTests, edge_worth


def not_shown(samples, edges):
    return [edge for edge, is_shown in shown(samples, edges).items() if not is_shown]


def with_stand_in(strength):
    """X5 is a child of Z1, and the model has it make Z2 in place of X6, its sibling."""
    truth = linear_scm(GRAPH.Q[[0, 1, 2, 3, 5, 4, 6, 7]], GRAPH.R, noise=strength)
    return truth, linear_scm(GRAPH.Q, GRAPH.R, noise=strength)


def test_an_edge_that_stands_in_for_its_sibling_does_not_show_where_it_is_acted_on():
    truth, wrong = with_stand_in(0.4)
    samples = samples_of(refitted(wrong, System(scm=truth).draw()), System(scm=truth))
    edges = [(int(i), int(k)) for i, k in np.argwhere(GRAPH.Q)]
    assert not_shown(samples, edges) == [(4, 1)]
    assert edge_worth(samples).details["not_shown_where_acted_on"] == ["X5 → Z2"]
    assert edge_worth(samples).answer is Answer.PARTLY


@pytest.mark.parametrize("action", ["random", "constant", "roughly"])
def test_edges_of_a_true_model_show_where_they_are_acted_on(action):
    edges = [(int(i), int(k)) for i, k in np.argwhere(GRAPH.Q)]
    for seed in range(3):
        samples = samples_of(SCM, System(action=action), seed=seed)
        assert not_shown(samples, edges) == []
        found = [shown_where_acted(samples, i, k) for i, k in edges]
        assert all(abs(one.slope - 1) < 5 * one.error for one in found)


def test_where_the_children_are_always_acted_on_too_nothing_can_show():
    samples = samples_of(SCM, System(targets=((0, 4, 5), (2,))))
    assert shown_where_acted(samples, 0, 0) is None
    assert not_shown(samples, [(0, 0), (1, 0)]) == []


def test_an_edge_that_shows_where_it_was_acted_on_needs_no_other_evidence(monkeypatch):
    monkeypatch.setattr(EdgeTests, "worth", lambda *_: 0.0)
    samples = samples_of(SCM, System(targets=((0,),)))
    assert shown(samples, [(0, 0), (1, 0)]) == {(0, 0): True}
    unsupported = edge_worth(samples).details["unsupported"]
    assert "X1 → Z1" not in unsupported
    assert "X2 → Z1" in unsupported


def test_an_idle_edge_is_not_shown_and_not_supported():
    truth = linear_scm(GRAPH.Q & (np.arange(8) != 1)[:, None], GRAPH.R)
    samples = samples_of(SCM, System(scm=truth))
    assert not shown(samples, [(1, 0)])[1, 0]
    assert "X2 → Z1" in edge_worth(samples).details["unsupported"]
