"""Order search against brute force over all orders."""

import itertools

import numpy as np
import pytest

from ucad.data import InterventionalData, MaskedMoments
from ucad.scm.families import AFFINE
from ucad.solvers.budget import Budget, BudgetEndedError
from ucad.solvers.problem import Problem
from ucad.solvers.regression.moments import local_moments
from ucad.solvers.regression.score_book import ScoreBook
from ucad.solvers.search.order import OrderSearch, search_order

NOBODY = np.zeros((5, 5), dtype=bool)


def samples(noise, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((600, 5))
    x[:, 2] = (x[:, 0] + x[:, 1]) / np.sqrt(2) + noise * x[:, 2]
    x[:, 4] = (x[:, 2] + x[:, 3]) / np.sqrt(2) + noise * x[:, 4]
    return x


def book_of(x, blur=0.0):
    others = [np.delete(np.arange(5), j) for j in range(5)]
    shared = MaskedMoments(x, np.zeros(x.shape, dtype=bool))
    moments = local_moments(shared, np.arange(5), others, floor=1e-3)
    return ScoreBook(moments, 15.0, blur=blur, backward=blur == 0)


def problem_of(x, budget=None):
    data = InterventionalData.from_arrays(x).standardised()
    return Problem.of(data, 1, (AFFINE, AFFINE), budget=budget)


@pytest.mark.parametrize(("noise", "blur"), [(0.0, 1e-3), (0.5, 0.0), (1.0, 0.0)])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_all_orders_is_found(noise, blur, seed):
    x = samples(noise, seed)
    book = book_of(x, blur)
    search = OrderSearch(book, NOBODY, Budget())
    found = search.total(search_order(book, NOBODY, problem_of(x)))
    everyone = [search.total(np.array(p)) for p in itertools.permutations(range(5))]
    assert found >= max(everyone) - 1e-6
    assert found > min(everyone) + 10


def test_the_best_order_within_known_ancestors_is_found():
    x = samples(0.5)
    book, ancestors = book_of(x), NOBODY.copy()
    ancestors[4, 0] = ancestors[3, 1] = True
    search = OrderSearch(book, ancestors, Budget())
    position = search_order(book, ancestors, problem_of(x))
    legal = [np.array(p) for p in itertools.permutations(range(5)) if p[4] < p[0] and p[3] < p[1]]
    assert position[4] < position[0]
    assert position[3] < position[1]
    assert search.total(position) >= max(map(search.total, legal)) - 1e-6
    assert search.total(position) < search.total(search_order(book, NOBODY, problem_of(x)))


def test_a_move_gains_what_it_says():
    search = OrderSearch(book_of(samples(0.0), 1e-3), NOBODY, Budget())
    position = np.array([4, 1, 0, 3, 2])
    gains = []
    for v in range(5):
        gain, moved = search.best_move(v, position)
        gains.append(gain)
        assert np.isclose(search.total(moved) - search.total(position), gain)
        assert sorted(moved) == list(range(5))
    assert max(gains) > 0


def test_a_good_start_is_kept_and_a_bad_one_is_left():
    x = samples(0.5)
    book = book_of(x)
    search = OrderSearch(book, NOBODY, Budget())
    for start in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0]):
        found = search_order(book, NOBODY, problem_of(x), np.array(start))
        assert search.total(found) >= search.total(np.array(start)) - 1e-6


def test_the_end_of_the_budget_ends_it():
    budget = Budget(1e-9)
    with pytest.raises(BudgetEndedError):
        search_order(book_of(samples(0.5)), NOBODY, problem_of(samples(0.5), budget))


def test_only_the_neighbours_of_a_moved_variable_are_looked_at_again():
    search = OrderSearch(book_of(samples(0.5)), NOBODY, Budget())
    before, after = np.array([0, 1, 2, 3, 4]), np.array([1, 0, 2, 3, 4])
    assert search.unsettled(before, after, np.array([0]))[[0, 1]].all()
    assert search.unsettled(before, np.array([4, 3, 2, 1, 0]), np.array([0])).all()
