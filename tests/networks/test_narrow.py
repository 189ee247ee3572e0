"""How many factors a bottleneck gets: as few as keep the decisions, unless one more is stabler."""

import numpy as np
import pytest

from ucad.networks.narrow import ENOUGH_KEPT, MAX_FACTORS, STABLER, _config, _Gap, _Search
from ucad.solvers.budget import Budget, BudgetEndedError


class Tried(_Gap):
    """A gap of which it is known what each number of factors keeps, and how stable it is."""

    def __init__(self, kept, stable=None, width=9, stops=None):
        self.shares, self.stable, self.stops = kept, stable or {}, stops
        self.names, self.site, self.seed = ["a", "b"], 0, 0
        self.columns = [np.arange(width), np.arange(width)]
        self.search, self.tried = _Search(Budget()), []

    def _fitted(self, k, seed):
        if self.stops is not None and k == self.stops[0]:
            raise self.stops[1]
        self.tried.append(k)
        return k

    def kept(self, result):
        return self.shares[result]

    def _stability(self, k):
        return self.stable.get(k, 0.5)


@pytest.mark.parametrize("first", [1, 2, 3, 4])
def test_the_fewest_factors_that_keep_enough_are_chosen_and_no_more_are_tried(first):
    shares = {k: ENOUGH_KEPT if k >= first else ENOUGH_KEPT - 1e-6 for k in range(1, 6)}
    gap = Tried(shares)
    k, why = gap.choose()
    assert k == first
    assert gap.tried == list(range(1, first + 1))
    assert f"as few as keep {ENOUGH_KEPT:.3f}" in why


def test_one_more_factor_is_taken_only_if_it_is_clearly_stabler():
    shares = {1: 1.0, 2: 1.0}
    assert Tried(shares, {1: 0.5, 2: 0.5 + STABLER}).choose()[0] == 1
    k, why = Tried(shares, {1: 0.5, 2: 0.51 + STABLER}).choose()
    assert k == 2
    assert "0.56 against 0.50" in why


def test_where_nothing_keeps_enough_the_best_is_taken_and_said():
    k, why = Tried({1: 0.6, 2: 0.9, 3: 0.8, 4: 0.7}).choose()
    assert k == 2
    assert f"kept 0.900 of the decisions, the most of 1 to {MAX_FACTORS}" in why


def test_a_site_of_two_units_has_at_most_two_factors():
    gap = Tried({1: 0.6, 2: 0.9}, width=2)
    assert gap.choose()[0] == 2
    assert gap.tried == [1, 2]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BudgetEndedError()])
def test_a_search_that_is_cut_short_keeps_the_best_that_was_tried(error):
    gap = Tried({1: 0.9, 2: 0.7}, stops=(3, error))
    k, why = gap.choose()
    assert k == 1
    assert "cut short" in why
    assert gap.search.interrupted == isinstance(error, KeyboardInterrupt)
    nothing, why = Tried({}, stops=(1, error)).choose()
    assert nothing == 1
    assert "not tried to the end" in why


@pytest.mark.parametrize("n_samples", [100, 256, 4000, 100_000])
def test_few_samples_are_gone_through_until_there_are_enough_steps(n_samples):
    config = _config(n_samples)
    steps = config.epochs * -(-n_samples // config.batch_size)
    assert steps >= 600
    assert config.epochs >= 12
    assert config.epochs == 12 or steps < 600 + -(-n_samples // config.batch_size)
