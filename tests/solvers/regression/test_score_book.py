"""The book of scores against selections made one by one."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.solvers.regression.test_trees import PENALTY, moments_of
from tests.strategies import seeds
from ucad.solvers.regression import score_book as module
from ucad.solvers.regression.score_book import ScoreBook
from ucad.solvers.regression.stepwise import Problems, select_features


def test_a_book_keeps_the_better_of_growing_and_eliminating():
    moments = moments_of(3)
    which, allowed = np.arange(6), np.ones((6, 5), dtype=bool)
    problems = Problems(moments.gram, moments.n_samples, which, allowed)
    both = select_features(problems, PENALTY)
    book = ScoreBook(moments, PENALTY, backward=True)
    np.testing.assert_allclose(book.scores(which, allowed), both.score)
    assert (book.selected() == both.selected).all()
    assert len(book.known) == 6
    book.known.update(dict.fromkeys(book.known, 1e9))
    assert (book.scores(which, allowed) == 1e9).all()


@settings(max_examples=8)
@given(seeds)
def test_scores_are_those_of_selections_made_from_scratch_one_by_one(seed):
    rng = np.random.default_rng(seed)
    moments = moments_of(seed % 5)
    which, allowed = rng.integers(6, size=12), rng.random((12, 5)) < 0.6
    which[6:], allowed[6:] = which[:6], allowed[:6]  # asked for twice
    for backward in (False, True):
        found = ScoreBook(moments, PENALTY, backward=backward).scores(which, allowed)
        for one, candidates, score in zip(which, allowed, found, strict=True):
            alone = Problems(moments.gram, moments.n_samples, np.array([one]), candidates[None])
            grown = select_features(alone, PENALTY, backward=False).score[0]
            best = select_features(alone, PENALTY, backward=backward).score[0]
            assert score == pytest.approx(max(grown, best), rel=1e-9)


def test_only_what_is_new_is_worked_out_and_targets_are_not_taken_for_each_other(monkeypatch):
    book = ScoreBook(moments_of(1), PENALTY, backward=True)
    asked = []
    original = ScoreBook._elimination

    def counted(self, which, allowed):
        asked.append(len(which))
        return original(self, which, allowed)

    monkeypatch.setattr(ScoreBook, "_elimination", counted)
    allowed = np.array([[True, True, False, False, False]] * 3)
    first = book.scores(np.array([0, 1, 0]), allowed)
    assert asked == [2]
    assert first[0] == first[2]
    again = book.scores(np.array([1, 0]), allowed[:2])
    assert asked == [2]
    assert again.tolist() == [first[1], first[0]]
    book.scores(np.array([0]), np.array([[True, False, True, False, False]]))
    assert asked == [2, 1]


def test_batches_change_nothing(monkeypatch):
    which, allowed = np.arange(6), np.random.default_rng(0).random((6, 5)) < 0.7
    whole = ScoreBook(moments_of(2), PENALTY, backward=True)
    expected = whole.scores(which, allowed), whole.selected()
    monkeypatch.setattr(module, "BATCH", 2)
    parts = ScoreBook(moments_of(2), PENALTY, backward=True)
    np.testing.assert_allclose(parts.scores(which, allowed), expected[0])
    np.testing.assert_array_equal(parts.selected(), expected[1])


def test_nothing_is_asked_of_an_empty_list():
    book = ScoreBook(moments_of(1), PENALTY, backward=True)
    assert book.scores(np.zeros(0, dtype=np.int64), np.zeros((0, 5), dtype=bool)).shape == (0,)
