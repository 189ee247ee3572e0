"""Choosing factors among candidates under an order."""

import itertools

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.solvers.search import SearchConfig
from ucad.solvers.search.assembly import assemble, build_assembly, escape, promising
from ucad.solvers.search.causes import Causes
from ucad.solvers.search.functions import Function, unit_variance


@pytest.fixture
def chain():
    """x0, x1 → z → x2, x3; x3 → y → x4; five candidates, of which two are the factors."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1000, 5))
    x[:, 2] = x[:, 0] + x[:, 1]
    x[:, 3] = -x[:, 0] - x[:, 1]
    x[:, 4] = 2 * x[:, 3]
    x[:200, 3] = rng.standard_normal(200)
    x[:200, 4] = 2 * x[:200, 3]
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[:200, 3] = True
    data = InterventionalData.from_arrays(x, clamped).standardised()
    candidates = []
    for parents in ([0, 1], [3], [2], [0], [4]):
        f = Function(np.array(parents), None, None, 1 / np.std(x[:, parents], axis=0) ** 0, 0.0)
        candidates.append(unit_variance(f, data.x))
    weights = np.array([x[:, 0].std(), x[:, 1].std()])
    candidates[0] = unit_variance(Function(np.array([0, 1]), None, None, weights, 0.0), data.x)
    return data, candidates


def assembly_of(data, candidates):
    nobody = np.zeros((5, 5), dtype=bool)
    causes = Causes(~nobody, nobody, None, ~data.is_intervened.any(axis=0))
    return build_assembly(candidates, data, causes, SearchConfig().settings(1000, seed=0))


def test_a_variable_may_only_be_a_child_of_factors_before_all_it_feeds(chain):
    assembly = assembly_of(*chain)
    assert assembly.allowed((0, 1))[3].tolist() == [True, False, False, False, False]
    assert not assembly.allowed((1, 0))[3].any()
    assert not assembly.allowed((0, 1))[[0, 1]].any()


def test_the_best_of_all_ordered_choices_is_found(chain):
    assembly = assembly_of(*chain)
    best = max(assembly.score(o) for o in itertools.permutations(range(5), 2))
    found = escape(assembly, assemble(assembly, 2))
    assert assembly.score(found) == pytest.approx(best)
    assert found == (0, 1)


def test_batched_scores_are_single_scores(chain):
    assembly = assembly_of(*chain)
    orders = list(itertools.permutations(range(5), 2))
    one_by_one = [assembly_of(*chain).score(order) for order in orders]
    np.testing.assert_allclose(assembly.scores(orders), one_by_one)


def test_fewer_candidates_than_factors_are_all_taken(chain):
    data, candidates = chain
    assert len(assemble(assembly_of(data, candidates[:1]), 3)) == 1


def test_a_known_order_leaves_one_place_for_a_factor(chain):
    data, candidates = chain
    nobody = np.zeros((5, 5), dtype=bool)
    position = np.array([0, 0, 1, 1, 2])
    causes = Causes(~nobody, nobody, position, ~data.is_intervened.any(axis=0))
    settings = SearchConfig().settings(1000, seed=0)
    assembly = build_assembly(candidates, data, causes, settings)
    assert assembly.insertions((1,), 0) == [(0, 1)]
    assert not assembly.allowed((1,))[2].any()


def test_promising_candidates_are_the_best_of_some_variable(chain):
    data, candidates = chain
    nobody = np.zeros((5, 5), dtype=bool)
    causes = Causes(~nobody, nobody, None, ~data.is_intervened.any(axis=0))
    noise = unit_variance(
        Function(np.array([0, 1]), None, None, np.array([1.0, -1.0]), 0.0), data.x
    )
    settings = SearchConfig().settings(1000, seed=0)
    kept = promising([*candidates, noise], data, causes, settings, n_each=1)
    assert candidates[0] in kept
    assert noise not in kept
    everything = promising([*candidates, noise], data, causes, settings, n_each=6)
    assert set(kept) < set(everything)
