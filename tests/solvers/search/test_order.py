"""Order search against brute force over all orders."""

import itertools

import numpy as np

from ucad.simulate import paper_problem
from ucad.solvers.search.moments import local_moments
from ucad.solvers.search.order import OrderConfig, OrderSearch, search_order
from ucad.solvers.search.regression import ScoreBook


def chain_book(n_samples=2000):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_samples, 5))
    x[:, 2] = (x[:, 0] + x[:, 1]) / np.sqrt(2)
    x[:, 4] = (x[:, 2] + x[:, 3]) / np.sqrt(2)
    others = [np.delete(np.arange(5), j) for j in range(5)]
    free = np.zeros(x.shape, dtype=bool)
    return ScoreBook(local_moments(x, x, free, others, floor=1e-3), 15.0, blur=1e-3)


def test_the_best_of_all_orders_is_found():
    book = chain_book()
    nobody = np.zeros((5, 5), dtype=bool)
    search = OrderSearch(book, nobody)
    found = search.total(search_order(book, nobody, OrderConfig()))
    best = max(search.total(np.array(p)) for p in itertools.permutations(range(5)))
    assert found >= best - 1e-6


def test_a_move_gains_what_it_says():
    book = chain_book()
    search = OrderSearch(book, np.zeros((5, 5), dtype=bool))
    position = np.array([4, 1, 0, 3, 2])
    for v in range(5):
        gain, moved = search.best_move(v, position)
        assert np.isclose(search.total(moved) - search.total(position), gain)
        assert sorted(moved) == list(range(5))


def test_known_ancestors_come_first():
    book = chain_book()
    ancestors = np.zeros((5, 5), dtype=bool)
    ancestors[4, 0] = True
    position = search_order(book, ancestors, OrderConfig())
    assert position[4] < position[0]


def test_true_parents_precede_their_children_in_a_clamped_problem():
    from ucad.solvers.search.causes import find_causes
    from ucad.solvers.search.screening import ScreeningConfig
    from ucad.solvers.search.settings import SearchConfig

    problem = paper_problem("b", "16-3", seed=0)
    settings = SearchConfig().settings(problem.train.n_samples, seed=0)
    causes, *_ = find_causes(problem.train, settings, ScreeningConfig(), OrderConfig(), seed=0)
    A = problem.scm.graph.variable_adjacency
    assert causes.position is not None
    assert (causes.position[:, None] < causes.position[None, :])[A].all()
