"""Choosing factors among candidates under an order."""

import itertools

import numpy as np
import pytest

from tests.solvers.search.ordered_candidates import chain_and_candidates, choice_of, made
from ucad.scm.families import AFFINE
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import values_of
from ucad.solvers.search import choice as choice_module
from ucad.solvers.search.choice import choose_factors, edges_of, escape, promising


@pytest.fixture(scope="module")
def chain():
    return chain_and_candidates()


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


def test_of_too_many_candidates_those_stay_that_explain_most(chain, monkeypatch):
    """The trees of all would not fit into memory where everything goes with everything."""
    data, pool = chain
    problem = Problem.of(data, 1, (AFFINE, AFFINE))
    every = promising(pool, problem, n_each=6)
    monkeypatch.setattr(choice_module, "MAX_NODES", 0)
    monkeypatch.setattr(choice_module, "LEAST_EACH", 2)
    few = promising(pool, problem, n_each=6)
    assert len(few) == 2 < len(every)
    gains = problem.explained_nats(values_of(every, data.x), problem.targets, AFFINE)
    parents = np.array([np.isin(np.arange(data.n_variables), one.parents) for one in every]).T
    gains[~problem.admissible.children_for(parents)] = 0
    total = np.maximum(gains - problem.penalty, 0).sum(axis=0)
    total -= problem.penalty * parents.sum(axis=0)
    assert {id(one) for one in few} == {id(every[c]) for c in np.argsort(-total)[:2]}
