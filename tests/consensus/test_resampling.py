"""Halves have nothing in common, hold half of every regime, and come in pairs."""

import numpy as np
import pytest

from ucad.consensus.resampling import Kind, check_n_runs, plan, rows_of
from ucad.errors import InvalidInputError

REGIME = np.repeat(np.arange(7), [40, 11, 10, 9, 3, 1, 1])


def halves(draws):
    return [draw for draw in draws if draw.kind is Kind.HALF]


def test_the_two_halves_of_a_pair_are_complementary_and_stratified():
    draws = halves(plan(20, REGIME, seed=3))
    for first, second in zip(draws[::2], draws[1::2], strict=True):
        assert first.deal == second.deal
        rows = [rows_of(one, REGIME) for one in (first, second)]
        assert sorted(np.concatenate(rows)) == list(range(len(REGIME)))
        counts = [np.bincount(REGIME[part], minlength=7) for part in rows]
        assert np.abs(counts[0] - counts[1]).max() <= 1
        assert abs(len(rows[0]) - len(rows[1])) <= 1


def test_pairs_differ_and_every_fit_has_a_seed_of_its_own():
    draws = plan(20, REGIME, seed=3)
    parts = {tuple(rows_of(draw, REGIME)) for draw in draws}
    assert len(parts) == len(draws) == len({draw.fit_seed for draw in draws}) == 20


def test_the_same_seed_deals_the_same_samples():
    for one, other in zip(plan(10, REGIME, 5), plan(10, REGIME, 5), strict=True):
        assert (rows_of(one, REGIME) == rows_of(other, REGIME)).all()


def test_five_fits_leave_every_interventional_regime_out_once_and_keep_the_controls():
    draws = [d for d in plan(50, REGIME, 0) if d.kind is Kind.WITHOUT_REGIMES]
    kept = [set(REGIME[rows_of(draw, REGIME)]) for draw in draws]
    assert all(0 in labels for labels in kept)
    left_out = [label for labels in kept for label in set(range(7)) - labels]
    assert sorted(left_out) == sorted(2 * list(range(1, 7)))


def test_without_interventions_all_fits_are_halves():
    assert len(halves(plan(20, np.zeros(30, dtype=int), 0))) == 20


@pytest.mark.parametrize("n_runs", [2, 7, -4, 2.0, True, 10**6])
def test_a_number_of_runs_that_makes_no_pairs_is_refused(n_runs):
    with pytest.raises(InvalidInputError, match="even"):
        check_n_runs(n_runs)


def test_no_runs_are_allowed():
    check_n_runs(0)
