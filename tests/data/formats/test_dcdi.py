"""The folder of DCDI, as others write it."""

import numpy as np
import pytest

import ucad
from tests.data.formats.test_formats import measured
from ucad.errors import FormatError

X = np.random.default_rng(0).normal(size=(5, 3))


def folder(tmp_path, targets, regimes="0\n0\n1\n2\n2\n", x=X):
    made = tmp_path / "dcdi"
    made.mkdir()
    np.save(made / "data_interv1.npy", x)
    (made / "intervention1.csv").write_text(targets)
    (made / "regime1.csv").write_text(regimes)
    return made


def test_an_inconsistent_dcdi_folder_is_refused(tmp_path):
    ucad.write(measured(), tmp_path / "folder")
    (tmp_path / "folder" / "regime1.csv").write_text("0\n1\n")
    with pytest.raises(FormatError, match="40 samples, 40 lines of targets, 2 regimes"):
        ucad.read(tmp_path / "folder")
    (tmp_path / "folder" / "intervention1.csv").write_text("7\n" * 40)
    with pytest.raises(FormatError, match="columns below 3. Got '7'"):
        ucad.read(tmp_path / "folder")
    with pytest.raises(FormatError, match="is not a folder with"):
        ucad.read(tmp_path)


def test_a_folder_of_tables_is_answered_with_their_names_also_where_options_are_given(tmp_path):
    for name in ("train.csv", "test.csv", "notes.md"):
        (tmp_path / name).write_text("a,b\n1,2\n")
    for options in ({}, {"target": "gene"}):
        with pytest.raises(FormatError, match=r"data files \(test.csv, train.csv\): name one"):
            ucad.read(tmp_path, **options)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_names_the_columns_that_were_clamped_and_an_empty_one_none(tmp_path, end):
    path = folder(tmp_path, end.join(["", "", "1", "0, 2", "0,2", ""]))
    data = ucad.read(path)
    np.testing.assert_array_equal(data.x, X)
    assert data.is_intervened.astype(int).tolist() == [
        [0, 0, 0],
        [0, 0, 0],
        [0, 1, 0],
        [1, 0, 1],
        [1, 0, 1],
    ]
    assert data.regime.tolist() == [0, 0, 1, 2, 2]
    assert data.regime_names == ("observational", "X2", "X1;X3")


@pytest.mark.parametrize("column", ["3", "-1", "1.0", "X1", "9" * 40])
def test_what_is_no_column_is_refused_with_its_line(tmp_path, column):
    path = folder(tmp_path, f"\n\n1\n0,{column}\n0\n")
    with pytest.raises(FormatError, match="Line 4 .* columns below 3"):
        ucad.read(path)


def test_a_file_that_lacks_is_named(tmp_path):
    path = folder(tmp_path, "\n" * 5)
    (path / "regime1.csv").unlink()
    with pytest.raises(FormatError, match="it has no regime1.csv"):
        ucad.read(path)


def test_fewer_lines_than_samples_are_refused(tmp_path):
    with pytest.raises(FormatError, match="5 samples, 4 lines of targets, 5 regimes"):
        ucad.read(folder(tmp_path, "\n\n1\n2"))


def test_rows_with_gaps_go_with_their_targets_and_regimes(tmp_path):
    x = X.copy()
    x[2, 0] = np.nan
    path = folder(tmp_path, "\n\n1\n0,2\n0,2\n", "0\n0\n1\n2\n2\n", x)
    data = ucad.read(path, missing="drop")
    np.testing.assert_array_equal(data.x, X[[0, 1, 3, 4]])
    assert data.is_intervened.any(axis=1).tolist() == [False, False, True, True]


def test_what_is_written_is_what_others_read(tmp_path):
    data = measured(layered=False)
    ucad.write(data, tmp_path / "out")
    lines = (tmp_path / "out" / "intervention1.csv").read_text().split("\n")
    assert lines[:4] == ["", "1", "0,2", ""]
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "data_interv1.npy"), data.x)
    regimes = np.loadtxt(tmp_path / "out" / "regime1.csv", dtype=int)
    np.testing.assert_array_equal(regimes, data.regime)
