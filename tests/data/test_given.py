"""What Python users hand over is read as they mean it, or refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ucad.data.checks import as_flags
from ucad.data.given import check_table, clamps_of, columns_by_name, given_interventions
from ucad.errors import InvalidInputError

X = np.arange(12.0).reshape(4, 3)
CLAMPS = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 0]], dtype=bool)
NAMES = ("a", "b", "c;d")


def frame(**columns):
    return pd.DataFrame(X, columns=list("abc")).assign(**columns)


def clamps(interventions):
    """What an estimator makes of interventions."""
    given = given_interventions(interventions, X.shape)
    is_matrix = isinstance(given, np.ndarray)
    return as_flags(given, "interventions") if is_matrix else clamps_of(given, NAMES)


@pytest.mark.parametrize(
    "given",
    [
        CLAMPS,
        CLAMPS.astype(float),
        CLAMPS.tolist(),
        CLAMPS.astype(int).tolist(),
        list(CLAMPS),
        pd.DataFrame(CLAMPS),
        np.ma.masked_array(CLAMPS),
        ["", "a", 'a;"c;d"', None],
        [[], ["a"], ["a", "c;d"], []],
        [set(), {"a"}, {"a", "c;d"}, ()],
        [np.array([]), np.array(["a"]), np.array(["a", "c;d"]), np.nan],
        pd.Series(["", "a", 'a;"c;d"', pd.NA]),
        pd.Categorical(["", "a", 'a;"c;d"', ""]),
        (label for label in [None, "a", 'a;"c;d"', pd.NaT]),
    ],
    ids=lambda given: type(given).__name__,
)
def test_interventions_mean_the_same_in_every_form(given):
    np.testing.assert_array_equal(clamps(given), CLAMPS)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "must be a matrix like X"),
        (CLAMPS[:2], "the shape of X, \\(4, 3\\)"),
        (CLAMPS[None], "the shape of X"),
        (CLAMPS[:, :2], "the shape of X"),
        (["a"], "one entry per sample, 4. Got 1"),
        ([True, False, True, False], "entry of sample 0 is 'True', of type bool"),
        (np.array([1, 0, 0, 0]) > 0, "of type bool"),
        ([b"a"] * 4, "of type bytes"),
        ([object()] * 4, "of type object"),
        ([[["a"]]] * 4, "of type list"),
        (np.ma.masked_array(CLAMPS, mask=CLAMPS), "masked"),
        (CLAMPS * 2, "only zeros and ones"),
        (np.where(CLAMPS, np.nan, 0), "only zeros and ones"),
        (["A", "", "", ""], "'A' \\('a'\\?\\)"),
    ],
)
def test_interventions_that_say_nothing_clear_are_refused(given, message):
    with pytest.raises(InvalidInputError, match=message):
        clamps(given)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.ma.masked_array(X, mask=X > 9), "2 masked value"),
        (X.astype("M8[s]"), "dates or times"),
        (X.astype("m8[s]"), "dates or times"),
        (frame(a=pd.date_range("2020", periods=4)), "Column 'a' of X must hold numbers. It holds"),
        (frame(a=pd.date_range("2020", periods=4, tz="UTC")), "dates or times"),
        (frame(b=["1", "2", "x", "3"]), "Column 'b' of X must hold numbers. Row 2 is 'x'"),
        (frame(b=pd.Categorical(list("aabb"))), "Row 0 is 'a'"),
        (frame(b=pd.period_range("2020", periods=4, freq="D")), "'b' of X must hold numbers"),
        (pd.DataFrame(X, columns=list("aab")), "same name: 'a'"),
        (pd.DataFrame(X, columns=pd.MultiIndex.from_product([["g"], range(3)])), "of 2 levels"),
    ],
)
def test_a_table_that_would_become_other_numbers_is_refused(table, message):
    with pytest.raises(InvalidInputError, match=message):
        check_table(table)


@pytest.mark.parametrize(
    "table",
    [
        X, X.tolist(), np.ma.masked_array(X), frame(), frame(a=[True, False] * 2), pd.DataFrame(X),
        frame(a=pd.array([1, None, 2, 3], dtype="Int64")), frame(a=pd.Categorical([1, 2, 1, 2])),
        frame(a=["1", "2", None, "3e5"]), X.astype(object),
    ],
    ids=str,
)  # fmt: skip
def test_other_tables_are_left_to_scikit_learn(table):
    check_table(table)


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        (None, "Got NoneType"), (3, "Got int"), ("t.csv", r"ucad.read\(path\)"),
        (Path("t.csv"), r"ucad.read\(path\)"), ({"a": [1.0]}, "pandas.DataFrame"),
        ({1.0}, "Got set"), ((row for row in X), "Make a list"),
    ],
    ids=lambda part: type(part).__name__ if not isinstance(part, str) else part,
)  # fmt: skip
def test_what_is_no_table_is_refused_with_what_to_do(given, advice):
    with pytest.raises(InvalidInputError, match=f"samples × variables.*{advice}"):
        check_table(given)


def test_columns_of_a_frame_are_found_by_name():
    turned = frame()[["c", "a", "b"]]
    np.testing.assert_array_equal(columns_by_name(turned, ("a", "b", "c")), X)
    np.testing.assert_array_equal(columns_by_name(turned, ("b|c", "a")), X[:, [1, 0]])
    with pytest.raises(InvalidInputError, match="no column for 1 of the 3 variables.*'d'"):
        columns_by_name(turned, ("a", "b", "d"))
    assert columns_by_name(turned, ("X1", "X2", "X3")) is None
    assert columns_by_name(X, ("a", "b", "c")) is None
