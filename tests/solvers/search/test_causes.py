"""Who may cause whom."""

import numpy as np

from tests.solvers.search.two_factors import LINEAR, NONLINEAR, children, measured, nothing_known
from ucad.data import InterventionalData
from ucad.simulate import paper_problem
from ucad.solvers.search.causes import Causes, find_causes
from ucad.solvers.search.order import OrderConfig
from ucad.solvers.search.screening import ScreeningConfig


def answers(data, settings):
    return find_causes(data, settings, ScreeningConfig(), OrderConfig(), 0)


def parents(*of_each):
    return children(*of_each)


def test_a_child_in_the_layer_of_a_parent_or_before_is_not_allowed():
    known = nothing_known(layers=[0] * 2 + [1] * 14)
    assert known.allow(parents([0, 1]), children([2, 3]))
    assert not known.allow(parents([0, 2]), children([3]))
    assert not known.allow(parents([2]), children([1]))
    assert nothing_known().allow(parents([2]), children([1]))


def test_layers_are_the_one_answer_and_let_nothing_cause_what_is_not_later():
    data = paper_problem("a", "16-3", seed=0, n_samples=1000).train.standardised()
    (only,) = answers(data, LINEAR)
    layer = np.asarray(data.layer_of)
    assert (only.position == layer).all()
    assert not only.may_cause[layer[:, None] >= layer[None, :]].any()


def test_small_linear_problems_are_searched_twice_the_order_first():
    data = paper_problem("b", "16-3", seed=0, n_samples=1000).train.standardised()
    first, second = answers(data, LINEAR)
    assert first.position is not None
    assert second.position is None
    assert len(answers(data, NONLINEAR)) == 1


def test_where_nothing_was_clamped_an_order_is_all_there_is():
    data = measured()
    assert isinstance(data, InterventionalData)
    (only,) = answers(data, NONLINEAR)
    assert only.never_clamped.all()
    assert only.position is not None


def test_what_is_no_known_effect_may_be_a_cause():
    ancestors = np.zeros((3, 3), dtype=bool)
    ancestors[0, 2] = True
    causes = Causes(~ancestors, ancestors, None, np.zeros(3, dtype=bool))
    expected = [[False, True, True], [True, False, True], [False, True, False]]
    assert causes.not_below.tolist() == expected
