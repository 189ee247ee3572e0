import pytest

import ucad
from ucad.errors import FormatError


def read(tmp_path, text, **options):
    (tmp_path / "t.csv").write_text(text)
    return ucad.read(tmp_path / "t.csv", **options)


@pytest.mark.parametrize(
    "text",
    [
        "index,a,b\n0,1,2\n1,5,3\n2,0,1\n",
        "Sample ID,a,b\n1,1,2\n2,5,3\n3,0,1\n",
        "cell,a,b\nAAAC-1,1,2\nAAAG-1,5,3\nCCCA-1,0,1\n",
        "barcode,a,b\nx,1,2\ny,5,3\nz,0,1\n",
    ],
)
def test_a_first_column_that_names_or_counts_the_rows_is_their_index(tmp_path, text):
    data = read(tmp_path, text)
    assert data.variable_names == ("a", "b")
    assert "taken for the index" in data.notes[0]


@pytest.mark.parametrize(
    "text",
    [
        "time,a,b\n1,1,2\n2,5,3\n3,0,1\n",
        "index,a,b\n3,1,2\n1,5,3\n2,0,1\n",
        "a,index,b\n3,0,2\n1,1,3\n2,2,1\n",
    ],
)
def test_other_columns_that_count_stay_variables(tmp_path, text):
    assert read(tmp_path, text).n_variables == 3


def test_a_first_column_of_texts_that_repeat_is_refused_and_not_taken_for_an_index(tmp_path):
    with pytest.raises(ValueError, match="Column 'batch' must hold numbers"):
        read(tmp_path, "batch,a,b\nx,1,2\ny,5,3\nx,0,1\n")


def test_a_first_column_that_was_asked_for_is_kept(tmp_path):
    data = read(tmp_path, "gene,a,b\na,1,2\nb,5,3\nc,0,1\n", target="gene")
    assert data.regime_names == ("observational", "a", "b", "c")


def test_a_repeated_column_is_taken_once_if_it_says_the_same(tmp_path, caplog):
    assert read(tmp_path, "a,b,a\n1,2,1\n3,4,3\n5,0,5\n").variable_names == ("a", "b")
    assert "there twice" in caplog.text
    with pytest.raises(FormatError, match=r"'a' \(columns 1 and 3\)"):
        read(tmp_path, "a,b,a\n1,2,1\n3,4,3\n5,0,6\n")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ('a,b,c\n"1,177.1",2,3\n4,5,6\n', "nothing between thousands"),
        ('a,b,c\n"0,943",2,3\n4,5,6\n', "a decimal point"),
        ("s1,s2,s3\n1,2,3\nSTAT1,JAK2,NT\n", "variables must be columns"),
        ("a,b,site\n1,2,Oslo\n4,5,Bergen\n", "--target, --context or --ignore"),
    ],
)
def test_what_is_no_number_is_refused_with_the_advice_that_fits(tmp_path, text, advice):
    with pytest.raises(ValueError, match=advice):
        read(tmp_path, text)
