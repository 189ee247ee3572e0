"""A matrix of numpy beside a table of its samples."""

import numpy as np
import pytest

import ucad
from ucad.errors import FormatError, InvalidInputError

X = np.random.default_rng(0).normal(size=(12, 3))


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "x.npy", X)
    return tmp_path / "x.npy"


def beside(path, header, *lines):
    path.with_suffix(".obs.csv").write_text("\n".join([header, *lines]) + "\n")


@pytest.mark.parametrize("content", [b"", b"no array", np.array([object()])])
def test_what_is_no_mapped_matrix_is_refused(tmp_path, content):
    if isinstance(content, bytes):
        (tmp_path / "x.npy").write_bytes(content)
    else:
        np.save(tmp_path / "x.npy", content, allow_pickle=True)
    with pytest.raises(FormatError, match="not an npy file"):
        ucad.read(tmp_path / "x.npy")


def test_a_table_of_other_samples_beside_a_matrix_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(9, 3)))
    (tmp_path / "x.obs.csv").write_text("target\nX1\nX2\n")
    with pytest.raises(FormatError, match="one line per sample, 9"):
        ucad.read(tmp_path / "x.npy")


def test_without_a_table_all_samples_are_observational(path):
    data = ucad.read(path)
    np.testing.assert_array_equal(data.x, X)
    assert data.variable_names == ("X1", "X2", "X3")
    assert not data.is_intervened.any()


def test_a_column_of_the_table_says_what_was_acted_on(path):
    beside(path, "gene;lane", *(f"{['NT', 'X3'][i % 2]};{'ab'[i // 6]}" for i in range(12)))
    data = ucad.read(path, target="gene", control="NT", context=["lane"])
    assert data.regime.tolist() == [0, 1] * 6
    assert data.is_intervened[1].tolist() == [False, False, True]
    assert data.context.values[:, 0].tolist() in ([0] * 6 + [1] * 6, [1] * 6 + [0] * 6)


@pytest.mark.parametrize("kind", [np.float32, np.int16, np.float64])
def test_values_are_those_of_the_matrix_whatever_its_kind(tmp_path, kind):
    x = (10 * X).astype(kind)
    np.save(tmp_path / "y.npy", x)
    np.testing.assert_array_equal(ucad.read(tmp_path / "y.npy").x, x.astype(np.float64))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"target": "gne"}, "Did you mean 'gene'"), ({"context": ["lan"]}, "Did you mean 'lane'")],
)
def test_a_column_that_is_not_there_gets_a_suggestion(path, options, message):
    beside(path, "gene,lane", *["X1,a"] * 12)
    with pytest.raises(InvalidInputError, match=message):
        ucad.read(path, **options)


def test_a_matrix_of_one_axis_is_refused(tmp_path):
    np.save(tmp_path / "flat.npy", X[:, 0])
    with pytest.raises((FormatError, InvalidInputError), match="samples"):
        ucad.read(tmp_path / "flat.npy")
