"""A text table that is cut off, or whose columns nothing known separates, is never half read."""

import csv
import io

import numpy as np
import pytest

import ucad
from tests.hostile.commands import cases
from ucad.errors import FormatError, InvalidInputError

NAMES = ["a", 'b "two"', "c\nd", "e,f"]


def table(seed, separator=","):
    """A table whose names and labels need quotes, and its text."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(int(rng.integers(3, 12)), len(NAMES)))
    labels = rng.choice(["", "a", "e,f", 'b "two"'], size=len(x))
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL, delimiter=separator)
    writer.writerows([[*NAMES, "target"], *([*row, t] for row, t in zip(x, labels, strict=True))])
    return x, buffer.getvalue()


@pytest.mark.parametrize("seed", cases(15, 60))
def test_a_table_that_is_cut_within_a_cell_is_refused(tmp_path, seed):
    """Every cell is quoted, so a cut leaves a mark open or a line short: no sample is lost."""
    x, text = table(seed)
    path = tmp_path / "table.csv"
    at = int(np.random.default_rng(seed).integers(len(text) // 3, len(text) - 2))
    path.write_text(text[:at], encoding="utf-8", newline="")
    try:
        read = ucad.read(path)
    except (FormatError, InvalidInputError):
        return
    np.testing.assert_array_equal(read.x, x[: len(read.x)])
    assert text[:at].endswith(('"', '",', "\r", "\n"))  # between two cells nothing shows


@pytest.mark.parametrize("mark", ["|", " ", "^", "~"])
def test_columns_that_nothing_known_separates_are_refused_by_what_does(tmp_path, mark):
    path = tmp_path / "table.csv"
    path.write_text(mark.join("abc") + "\n" + f"{mark.join('123')}\n" * 3)
    with pytest.raises(FormatError, match="seem to be separated by .*commas, semicolons or tabs"):
        ucad.read(path)


@pytest.mark.parametrize("text", ["1_0", "3_12", "1__2", "_1", "1_000.5"])
def test_a_name_with_an_underscore_is_no_number(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(f"a,b\n1,2\n2,{text}\n3,5\n4,7\n")
    with pytest.raises(InvalidInputError, match=f"Column 'b' must hold numbers. Row 1 is '{text}'"):
        ucad.read(path)


@pytest.mark.parametrize("text", ["-", "?", "#DIV/0!", "missing", "n.a.", "NA", ""])
def test_a_missing_value_is_known_by_many_names_and_never_read_in_silence(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(f"a,b\n1,2\n2,{text}\n3,5\n4,7\n")
    with pytest.raises(InvalidInputError, match="--missing"):
        ucad.read(path)
    assert len(ucad.read(path, missing="drop")) == 3
