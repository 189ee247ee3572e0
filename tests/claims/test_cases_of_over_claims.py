"""Models that were once claimed although wrong, each by data of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.claims.models import (
    GRAPH,
    SCM,
    System,
    certificate,
    direct_edge,
    linear_scm,
    refitted,
)
from ucad.claims import certify
from ucad.claims.answers import Answer
from ucad.graph import FactorGraph


def test_a_reversed_graph_of_320_variables_is_refused():
    """Half of 320 variables make eight factors, which make the other half; the model says so
    the other way round."""
    rng = np.random.default_rng(0)
    side = np.eye(8, dtype=bool)[rng.integers(8, size=160)]
    side[:8] = np.eye(8, dtype=bool)
    empty = np.zeros_like(side)
    truth = linear_scm(np.vstack([side, empty]), np.vstack([empty, side]), weight=0.3)
    backwards = linear_scm(np.vstack([empty, side]), np.vstack([side, empty]), weight=0.3)
    targets = tuple((int(i),) for i in range(0, 320, 8))
    parts = System(scm=truth, targets=targets).draw(2050).split(0.75, 0.25, seed=0)
    found = certify(refitted(backwards, parts.train), parts.train, held_out=parts.validation)
    assert found.may_claim("graph").answer is Answer.NO
    assert found.may_claim("directions").answer is Answer.NO


def test_a_direct_edge_beside_curved_children_is_refused():
    system = System(shape=np.tanh, direct=direct_edge(5, 7))
    found = certificate(refitted(SCM, system.draw()), system)
    assert found.may_claim("graph").answer is Answer.NO
    assert "edge" in [one.kind for one in found.suggestions][:2]


def test_readings_with_90_percent_zeros_are_not_claimed():
    """What is below a limit reads as zero, while the factors go on reading what is there."""
    parts = System().draw(8000).split(0.75, 0.25, seed=0)
    limit = np.quantile(parts.train.x, 0.9, axis=0)
    seen = [replace(part, x=np.maximum(part.x - limit, 0.0)) for part in parts[:2]]
    found = certify(refitted(SCM, seen[0]), seen[0], held_out=seen[1])
    assert found.may_claim("graph").answer is not Answer.YES
    assert found.may_claim("values").answer is not Answer.YES


def test_two_factors_with_their_parents_exchanged_are_refused():
    exchanged = FactorGraph(GRAPH.Q[[2, 1, 0, 3, 4, 5, 6, 7]], GRAPH.R)
    wrong = linear_scm(exchanged.Q, exchanged.R)
    system = System()
    found = certificate(refitted(wrong, system.draw()), system)
    assert found.may_claim("graph").answer is Answer.NO
