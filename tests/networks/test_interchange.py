"""Swap pairs and their scores, against counting."""

import numpy as np
import pytest
import torch
from hypothesis import given

from tests.strategies import seeds
from ucad.errors import InvalidInputError
from ucad.networks.interchange import (
    UNKNOWN,
    SwapPairs,
    expected_by_lookup,
    interchange_score,
    swap_pairs,
)

BITS = np.random.default_rng(0).integers(2, size=(200, 2)).astype(bool)
BOTH = BITS.all(axis=1)
LABELS = {"a": BITS[:, 0], "b": BITS[:, 1]}


@given(seeds)
def test_half_of_the_pairs_should_change_the_decision_and_all_are_as_expected(seed):
    pairs = swap_pairs(BOTH, expected_by_lookup(LABELS, BOTH, "a"), n_pairs=40, seed=seed)
    wanted = BITS[pairs.source, 0] & BITS[pairs.base, 1]
    np.testing.assert_array_equal(pairs.expected, wanted)
    np.testing.assert_array_equal(pairs.changes, wanted != BOTH[pairs.base])
    assert pairs.changes.sum() == 20
    assert len(pairs) == 40
    assert (pairs.base != pairs.source).all()


def test_bases_and_sources_are_taken_from_those_that_are_given():
    bases, sources = np.arange(50), np.arange(100, 150)
    pairs = swap_pairs(
        BOTH, expected_by_lookup(LABELS, BOTH, "b"), bases=bases, sources=sources, n_pairs=30
    )
    assert set(pairs.base) <= set(bases)
    assert set(pairs.source) <= set(sources)


def test_unknown_expectations_are_never_drawn():
    def expected(base, source):
        found = expected_by_lookup(LABELS, BOTH, "a")(base, source)
        return np.where(source % 3 == 0, UNKNOWN, found)

    pairs = swap_pairs(BOTH, expected, n_pairs=60)
    assert (pairs.source % 3 != 0).all()
    assert (pairs.expected != UNKNOWN).all()


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (lambda base, _: BOTH[base], "no swap changes"),
        (lambda base, _: ~BOTH[base], "no swap keeps"),
    ],
)
def test_pairs_of_one_kind_only_are_refused(expected, message):
    with pytest.raises(InvalidInputError, match=message):
        swap_pairs(BOTH, expected)


def test_halves_have_no_pair_in_common_and_nothing_is_lost():
    pairs = swap_pairs(BOTH, expected_by_lookup(LABELS, BOTH, "a"), n_pairs=41)
    whole = sorted(zip(pairs.base, pairs.source, strict=True))
    halves = [list(zip(half.base, half.source, strict=True)) for half in pairs.halves(seed=3)]
    assert sorted(halves[0] + halves[1]) == whole
    assert abs(len(halves[0]) - len(halves[1])) <= 1


@given(seeds)
def test_a_score_is_the_mean_of_two_accuracies_however_many_pairs_each_has(seed):
    rng = np.random.default_rng(seed)
    changes = np.r_[True, False, rng.random(10) < 0.3]
    n = len(changes)
    expected, decided = rng.integers(2, size=(2, n))
    pairs = SwapPairs(np.arange(n), np.arange(n)[::-1].copy(), expected, changes)
    swap = lambda _base, _source: torch.tensor(2.0 * decided - 1)[:, None]  # noqa: E731
    found = interchange_score(swap, torch.zeros(n, 1), pairs)
    right = decided == expected
    of_each = [right[changes].mean(), right[~changes].mean()]
    assert (found.on_changes, found.on_keeps) == pytest.approx(tuple(of_each))
    assert found.mean == pytest.approx(np.mean(of_each))
    assert (found.n_changes, found.n_keeps) == (changes.sum(), (~changes).sum())


def test_a_swap_gets_the_inputs_of_its_pairs():
    """The output of the source decides: right exactly where the expected is its own bit."""
    x = torch.tensor(np.where(BITS[:, :1], 1.0, -1.0))
    pairs = swap_pairs(BITS[:, 0], lambda _base, source: BITS[source, 0], n_pairs=50)
    assert interchange_score(lambda _base, source: source, x, pairs).mean == 1.0
    assert interchange_score(lambda base, _source: base, x, pairs).on_changes == 0.0


def test_lookup_says_what_the_rule_says():
    expected = expected_by_lookup({"a": BITS[:, 0], "b": BITS[:, 1]}, BOTH, "a")
    base, source = np.arange(100), np.arange(100, 200)
    np.testing.assert_array_equal(expected(base, source), BITS[source, 0] & BITS[base, 1])
    with pytest.raises(InvalidInputError, match="must be a function of the concepts"):
        expected_by_lookup({"a": BITS[:, 0]}, BOTH, "a")
    with pytest.raises(InvalidInputError, match="no concept 'c'"):
        expected_by_lookup({"a": BITS[:, 0], "b": BITS[:, 1]}, BOTH, "c")


def test_pairs_with_unseen_combinations_are_not_drawn():
    seen = np.flatnonzero(~(BITS[:, 0] & ~BITS[:, 1]))
    a, b = BITS[seen].T
    pairs = swap_pairs(a & b, expected_by_lookup({"a": a, "b": b}, a & b, "a"), n_pairs=100)
    assert not (a[pairs.source] & ~b[pairs.base]).any()


def test_concepts_that_no_two_inputs_share_are_refused():
    with pytest.raises(InvalidInputError, match="any outcome would be a function of them"):
        expected_by_lookup({"a": np.arange(100) / 7}, np.arange(100) % 2, "a")
