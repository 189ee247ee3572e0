"""Objective and constraints in one evaluation."""

import numpy as np
import torch

from tests.solvers.gradient.conftest import graph_of, start_of
from ucad.solvers.gradient.problem import Constraints, RelaxedProblem
from ucad.solvers.gradient.relaxed_graph import Edge
from ucad.solvers.prior import PriorKnowledge


def test_every_column_of_the_violations_has_a_name(problem, config):
    for layers in (None, torch.zeros(16, dtype=torch.long)):
        constraints = Constraints(config.constraints, layers)
        names = constraints.names(3)
        assert constraints.violations(graph_of(problem.scm)).shape == (1, len(names))
        assert len(set(names)) == len(names)


def test_the_true_graph_violates_nothing_and_a_graph_without_edges_has_no_anchors(problem, config):
    constraints, truth = Constraints(config.constraints), graph_of(problem.scm)
    assert (constraints.violations(truth) <= 0).all()
    nothing = truth._replace(Q=truth.Q * 0, R=truth.R * 0)
    missed = constraints.violations(nothing)[0] > 0
    found = [
        name for name, is_missed in zip(constraints.names(3), missed, strict=True) if is_missed
    ]
    assert found == [f"{side}-anchor of Z{k}" for side in ("in", "out") for k in (1, 2, 3)]


def test_edges_that_the_prior_rules_out_have_no_probability(problem, config):
    forbidden = np.zeros((16, 3), dtype=bool)
    forbidden[0] = True
    known = type(config)(
        constraints=config.constraints,
        training=config.training,
        prior=PriorKnowledge(forbidden_parent=forbidden),
    )
    posed = RelaxedProblem.of(problem.train, problem.validation, 3, known)
    logits = posed.logits(start_of(posed, [0]))
    assert (logits.softmax(dim=1)[:, Edge.PARENT, 0] == 0).all()
    assert (logits.softmax(dim=1)[:, Edge.PARENT, 1] > 0).all()
