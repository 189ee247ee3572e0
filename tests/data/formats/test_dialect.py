"""Tables as spreadsheets write them are read as they are meant."""

from pathlib import Path

import pytest

import ucad
from ucad.data.formats.dialect import rows_of
from ucad.errors import FormatError

ROWS = [["a", "b"], ["0.5", "1.25"], ["-2", "3e5"]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "a,b\n0.5,1.25\n-2,3e5\n"),
        ("t.csv", "a;b\r\n0.5;1.25\r\n-2;3e5\r\n"),
        ("t.csv", "a;b\n0,5;1,25\n-2;3e5\n"),
        ("t.csv", "sep=;\r\na;b\r\n0,5;1,25\r\n-2;3e5"),
        ("t.csv", "a\tb\n0.5\t1.25\n-2\t3e5\n"),
        ("t.tsv", "a,b\n0.5,1.25\n-2,3e5\n"),
        ("t.txt", "a\tb\n0,5\t1,25\n-2\t3e5\n"),
        ("t.csv", "\na,b,,\n\n0.5,1.25,,\n-2,3e5,,\n"),
        ("t.csv", '"a","b"\n"0.5","1.25"\n"-2","3e5"\n'),
    ],
)
def test_a_table_is_the_same_however_it_was_saved(name, text):
    assert rows_of(text, Path(name), guess=True) == ROWS


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a;b,c\n1,2\n", [["a;b", "c"], ["1", "2"]]),
        ("a;b\n1.5;2,5\n", [["a", "b"], ["1.5", "2,5"]]),
        ("a\n1\n", [["a"], ["1"]]),
        ("", []),
    ],
)
def test_nothing_is_guessed_where_it_is_not_clear(text, rows):
    assert rows_of(text, Path("t.csv"), guess=True) == rows


def test_a_file_of_our_own_is_read_as_it_stands():
    assert rows_of("a;b\n1\n", Path("t.csv"), guess=False) == [["a;b"], ["1"]]


def test_other_separators_are_said(tmp_path, caplog):
    (tmp_path / "t.csv").write_text("a;b\n0,5;1\n2;3\n")
    assert ucad.read(tmp_path / "t.csv").x.tolist() == [[0.5, 1], [2, 3]]
    assert "separated by semicolons" in caplog.text
    assert "have a comma" in caplog.text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.5,1\n2,3\n4,5\n", "must name the variables. It holds only numbers: 0.5, 1"),
        ("# made by hand\na,b\n2,3\n4,6\n", "Remove what stands above the line with the names"),
        ("a,b\0\n2,3\n", "null characters"),
    ],
)
def test_a_table_without_its_line_of_names_is_refused(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(FormatError, match=message):
        ucad.read(tmp_path / "t.csv")


def test_whole_numbers_can_be_names(tmp_path):
    (tmp_path / "t.csv").write_text("0,1\n2,3\n4,6\n")
    assert ucad.read(tmp_path / "t.csv").variable_names == ("0", "1")
