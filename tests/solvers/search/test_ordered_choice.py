"""What an ordered choice of candidates scores, and where one more may stand."""

import itertools

import numpy as np
import pytest

from tests.solvers.search.ordered_candidates import chain_and_candidates, choice_of


@pytest.fixture(scope="module")
def chain():
    return chain_and_candidates()


def test_a_variable_may_only_be_a_child_of_factors_before_all_it_feeds(chain):
    choice = choice_of(*chain)
    assert choice.allowed((0, 1))[3].tolist() == [True, False, False, False, False]
    assert not choice.allowed((1, 0))[3].any()
    assert not choice.allowed((0, 1))[[0, 1]].any()


@pytest.mark.parametrize("layers", [None, [0, 0, 1, 1, 2]])
@pytest.mark.parametrize("rest", [(), (0,), (1,), (1, 0), (0, 1, 2)])
def test_every_insertion_scores_what_its_order_scores(chain, rest, layers):
    choice = choice_of(*chain, layers)
    scores = choice.insertions([rest], frozenset(range(5))).scores[0]
    assert scores.shape == (5, len(rest) + 1)
    for c, place in itertools.product(range(5), range(len(rest) + 1)):
        if np.isfinite(scores[c, place]):
            order = (*rest[:place], c, *rest[place:])
            assert scores[c, place] == pytest.approx(choice.score(order))
    assert np.isfinite(scores).any(axis=1).sum() == 5 - len(rest)
    assert (scores[list(rest)] == -np.inf).all()


def test_a_known_order_leaves_one_place_for_a_factor(chain):
    choice = choice_of(*chain, layers=[0, 0, 1, 1, 2])
    everything = frozenset(range(5))
    assert np.isfinite(choice.insertions([(1,)], everything).scores[0, 0]).tolist() == [True, False]
    free = choice_of(*chain).insertions([(1,)], everything)
    assert np.isfinite(free.scores[0, 0]).all()
    assert not choice.allowed((1,))[2].any()
