"""Choosing factors among candidates under an order."""

import itertools

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.scm.families import AFFINE, Affine
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import unit_variance
from ucad.solvers.search.choice import build_choice, choose_factors, edges_of, escape, promising


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


def test_the_best_of_all_ordered_choices_is_found(chain):
    choice = choice_of(*chain)
    best = max(choice.score(order) for order in itertools.permutations(range(5), 2))
    found = escape(choice, choose_factors(choice, 2))
    assert choice.score(found) == pytest.approx(best)
    assert found == (0, 1)


def test_fewer_candidates_than_factors_are_all_taken(chain):
    data, pool = chain
    assert len(choose_factors(choice_of(data, pool[:1]), 3)) == 1


def test_the_edges_of_a_choice_do_not_depend_on_how_it_is_written(chain):
    choice = choice_of(*chain)
    assert edges_of(choice, (0, 1)) != edges_of(choice, (0, 4))
    data, pool = chain
    turned = choice_of(data, pool[::-1])
    assert edges_of(choice, (0, 1)) == edges_of(turned, (4, 3))


def test_promising_candidates_are_the_best_of_some_variable(chain):
    data, pool = chain
    noise = made(data, [0, 1], [1.0, -1.0])
    problem = Problem.of(data, 2, (AFFINE, AFFINE))
    kept = promising([*pool, noise], problem, n_each=1)
    assert pool[0] in kept
    assert noise not in kept
    assert len(promising([*pool, noise], problem, n_each=6)) >= len(kept)
