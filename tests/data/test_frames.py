"""Frames are read by the names of their columns and the order of their rows, or refused."""

import numpy as np
import pandas as pd
import pytest

from ucad.data.frames import check_same_rows, in_order, without_columns
from ucad.errors import InvalidInputError

NAMES = ["a", "b", "c"]
FLAGS = np.array([[1, 0, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_flags_are_found_by_the_names_of_their_columns(order):
    frame = pd.DataFrame(FLAGS, columns=NAMES).iloc[:, order]
    np.testing.assert_array_equal(in_order(frame, NAMES).to_numpy(), FLAGS)


def test_numbered_columns_are_in_the_order_of_the_variables():
    np.testing.assert_array_equal(in_order(pd.DataFrame(FLAGS), NAMES).to_numpy(), FLAGS)


@pytest.mark.parametrize("columns", [["a", "b", "d"], ["a", "b", "b"], ["a", "b", 0]])
def test_flags_of_other_variables_are_refused(columns):
    with pytest.raises(InvalidInputError, match="has none for 'c'"):
        in_order(pd.DataFrame(FLAGS, columns=columns), NAMES)


def test_rows_in_another_order_are_refused_and_others_are_taken_as_they_come():
    x = pd.DataFrame(np.zeros((3, 2)), index=["p", "q", "r"])
    with pytest.raises(InvalidInputError, match=r"interventions.loc\[X.index\]"):
        check_same_rows(x, pd.Series(["", "a", "b"], index=["q", "p", "r"]), "interventions")
    check_same_rows(x, pd.Series(["", "a", "b"], index=["p", "q", "r"]), "interventions")
    check_same_rows(x, pd.Series(["", "a", "b"]), "interventions")
    check_same_rows(x, ["", "a", "b"], "interventions")
    check_same_rows(np.zeros((3, 2)), pd.Series(["", "a", "b"]), "interventions")


def test_columns_are_taken_out_of_a_frame():
    frame = pd.DataFrame(np.zeros((2, 3)), columns=NAMES)
    assert list(without_columns(frame, ["b"]).columns) == ["a", "c"]
