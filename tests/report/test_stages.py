"""Stages of a search: gains and seconds of each, from totals since the start."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucad.report.stages import stages_of, training_of

spans = st.lists(st.tuples(st.floats(0, 50), st.floats(-9, 9)), min_size=1, max_size=6)


@given(spans)
def test_seconds_and_gains_of_the_stages_add_up_to_the_whole(steps):
    rows, seconds, score = [], 0.0, 10.0
    for took, gained in steps:
        seconds, score = seconds + took, score + gained
        rows.append({"stage": "s", "score": score, "seconds": seconds})
    found = stages_of(rows)
    for row, (took, gained) in list(zip(found, steps, strict=True))[1:]:
        assert row["seconds"] == pytest.approx(took, abs=1e-9)
        assert row["gained"] == pytest.approx(gained, abs=1e-9)
    assert found[0]["gained"] is None
    if seconds > 0:
        assert sum(row["share"] for row in found) == pytest.approx(1.0)
    else:
        assert {row["share"] for row in found} == {None}


def test_a_clock_that_starts_anew_gives_the_seconds_of_that_stage():
    """A fit that was resumed counts from its own start."""
    rows = [{"stage": "a", "seconds": 30.0}, {"stage": "b", "seconds": 4.0}]
    assert [row["seconds"] for row in stages_of(rows)] == [30.0, 4.0]


def test_what_is_no_number_is_not_guessed():
    rows = [
        {"stage": "a", "score": 1.0, "seconds": 2.0},
        {"stage": "b", "score": float("nan"), "seconds": None},
        {"stage": "c", "score": 5.0, "seconds": 3.0, "n_edges": 7},
    ]
    found = stages_of(rows)
    assert [row["gained"] for row in found] == [None, None, None]
    assert [row["seconds"] for row in found] == [2.0, None, 1.0]
    assert [row["share"] for row in found] == [pytest.approx(2 / 3), None, pytest.approx(1 / 3)]
    assert found[2]["n_edges"] == 7


def test_rows_of_a_training_are_curves_and_not_stages():
    rows = [{"stage": "fit", "epoch": 1}, {"stage": "fit", "step": 2}, {"stage": "end"}, {"nll": 1}]
    assert training_of(rows) == rows[:2]
    assert [row["stage"] for row in stages_of(rows)] == ["end"]
