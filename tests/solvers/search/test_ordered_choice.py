"""What an ordered choice of candidates scores, and where one more may stand."""

import itertools

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.scm.families import AFFINE, Affine
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import unit_variance
from ucad.solvers.search.choice import build_choice


def made(data, parents, weights):
    return unit_variance(Affine(np.array(parents), np.array(weights), 0.0), data.x)


@pytest.fixture(scope="module")
def chain():
    """x0, x1 → z → x2, x3; x3 → y → x4; five candidates, of which two are the factors."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1000, 5))
    x[:, 2] = x[:, 0] + x[:, 1]
    x[:, 3] = -x[:, 0] - x[:, 1]
    x[:200, 3] = rng.standard_normal(200)
    x[:, 4] = 2 * x[:, 3]
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[:200, 3] = True
    data = InterventionalData.from_arrays(x, clamped).standardised()
    scale = x[:, :2].std(axis=0)
    pool = [made(data, [0, 1], scale), *(made(data, [i], [1.0]) for i in (3, 2, 0, 4))]
    return data, pool


def choice_of(data, pool, layers=None):
    if layers is not None:
        data = InterventionalData.from_arrays(data.x, data.is_intervened, layer_of=layers)
    return build_choice(pool, Problem.of(data, 2, (AFFINE, AFFINE)))


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
