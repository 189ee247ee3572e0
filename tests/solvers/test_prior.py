"""Prior knowledge: consistency, matching and imposing."""

import numpy as np
import pytest

from ucad.errors import InvalidInputError
from ucad.solvers.prior import PriorKnowledge


def one_at(*places, shape=(4, 2)):
    array = np.zeros(shape, dtype=bool)
    for place in places:
        array[place] = True
    return array


def test_contradictions_are_refused():
    with pytest.raises(InvalidInputError, match="forbids"):
        PriorKnowledge(required_parent=one_at((0, 0)), forbidden_parent=one_at((0, 0)))
    with pytest.raises(InvalidInputError, match="both"):
        PriorKnowledge(required_parent=one_at((0, 0)), required_child=one_at((0, 0)))


def test_something_must_be_known():
    with pytest.raises(InvalidInputError, match="at least one"):
        PriorKnowledge()


def test_factors_are_matched_to_the_knowledge_about_them():
    prior = PriorKnowledge(required_parent=one_at((0, 1)))
    Q, R = one_at((0, 0), (1, 1)), one_at((2, 0), (3, 1))
    assert prior.relabelling(Q, R).tolist() == [1, 0]


def test_imposing_adds_required_edges_and_removes_forbidden_ones_only():
    prior = PriorKnowledge(required_parent=one_at((3, 0)), forbidden_child=one_at((2, 1)))
    Q, R = prior.imposed_on(one_at((0, 0)), one_at((3, 0), (2, 1), (1, 1)))
    assert (one_at((0, 0), (3, 0)) == Q).all()
    assert (one_at((1, 1)) == R).all()


def test_an_anchor_belongs_to_its_factor_and_to_no_other():
    prior = PriorKnowledge.with_anchors(one_at((0, 0)), one_at((3, 1)))
    Q, R = prior.imposed_on(one_at((0, 1)), one_at((3, 0)))
    assert (one_at((0, 0)) == Q).all()
    assert (one_at((3, 1)) == R).all()
