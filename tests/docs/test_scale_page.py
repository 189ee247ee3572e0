"""The tables of docs/scale.md are those of the tracked rows."""

import numpy as np

from benchmarks import peers, scale


def test_the_page_shows_the_tracked_rows():
    rows = scale.rows_of(*scale.EARLIER, scale.ROWS)
    text = scale.PAGE.read_text()
    assert scale.page(text, rows) == text
    assert scale.page(text, rows[1:]) != text


def test_the_page_shows_the_rows_of_other_learners():
    rows = scale.rows_of(peers.ROWS)
    text = scale.PAGE.read_text()
    assert peers.page(text, rows) == text
    assert peers.page(text, rows[1:]) != text


def test_a_missing_an_extra_and_a_reversed_edge_count_one_each():
    truth = np.zeros((4, 4), dtype=bool)
    truth[0, 1] = truth[1, 2] = True
    assert peers.distance(truth, truth) == 0
    found = truth.copy()
    found[0, 1], found[2, 1], found[1, 2], found[0, 3] = False, True, False, True
    assert peers.distance(found, truth) == 3


def test_an_edge_without_direction_is_right_where_there_is_one():
    truth = np.zeros((3, 3), dtype=bool)
    truth[0, 1] = True
    both = truth | truth.T
    assert peers.distance(both, truth) == 0
    both[1, 2] = both[2, 1] = True
    assert peers.distance(both, truth) == 1
