"""AnnData: which matrix is read, and what must be said of its cells."""

import numpy as np
import pytest

import ucad
from ucad.data.formats.anndata import from_anndata
from ucad.data.formats.options import ReadOptions
from ucad.errors import FormatError, InvalidInputError

anndata = pytest.importorskip("anndata")
pandas = pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore:Variable names are not unique")


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    obs = pandas.DataFrame({"gene": ["NT", "a"] * 10}, index=[f"c{i}" for i in range(20)])
    var = pandas.DataFrame(index=["a", "b", "c"])
    full = anndata.AnnData(rng.normal(size=(20, 3)), obs, var)
    made = full[:, ["a", "b"]].copy()
    made.raw = full
    made.layers["twice"] = 2 * made.X
    return made, full


SCREEN = {"target": "gene", "control": "NT"}


def stored(table, tmp_path):
    table.write_h5ad(tmp_path / "t.h5ad")
    return tmp_path / "t.h5ad"


@pytest.mark.parametrize("in_memory", [True, False])
def test_x_raw_and_layers_are_different_matrices(table, tmp_path, in_memory):
    made, full = table
    path = None if in_memory else stored(made, tmp_path)

    def read(**options):
        if path is not None:
            return ucad.read(path, **SCREEN, **options)
        return from_anndata(made, ReadOptions(**SCREEN, **options))

    plain = read()
    np.testing.assert_array_equal(plain.x, full.X[:, :2])
    assert plain.regime_names == ("observational", "a")
    np.testing.assert_array_equal(read(matrix="twice").x, 2 * full.X[:, :2])
    raw = read(matrix="raw")
    np.testing.assert_array_equal(raw.x, full.X)
    assert raw.variable_names == ("a", "b", "c")


def test_a_matrix_that_is_not_there_is_refused_with_those_that_are(table, tmp_path):
    path = stored(table[1], tmp_path)
    with pytest.raises(InvalidInputError, match="no matrix 'raw'.* There are X."):
        ucad.read(path, matrix="raw", **SCREEN)


def test_the_column_of_perturbations_must_be_said_if_there_are_columns(table, tmp_path):
    path = stored(table[1], tmp_path)
    with pytest.raises(InvalidInputError, match=r"Say which column of 'obs'.* 'gene'"):
        ucad.read(path)
    with pytest.raises(InvalidInputError, match="Did you mean 'gene'"):
        ucad.read(path, target="gen")


def test_cells_without_any_column_are_observational(table, tmp_path):
    full = table[1]
    del full.obs["gene"]
    assert not ucad.read(stored(full, tmp_path)).is_intervened.any()


def test_a_file_whose_parts_do_not_fit_is_said_to_be_damaged(table, tmp_path):
    h5py = pytest.importorskip("h5py")
    path = stored(table[1], tmp_path)
    with h5py.File(path, "a") as file:
        x = file["X"][:-3]
        attributes = dict(file["X"].attrs)
        del file["X"]
        file["X"] = x
        file["X"].attrs.update(attributes)
    with pytest.raises(FormatError, match="damaged: X is 17 × 3, and there are 20 samples"):
        ucad.read(path, **SCREEN)


def test_a_file_without_a_matrix_is_refused(table, tmp_path):
    h5py = pytest.importorskip("h5py")
    path = stored(table[1], tmp_path)
    with h5py.File(path, "a") as file:
        del file["X"]
    with pytest.raises(FormatError, match="no matrix X"):
        ucad.read(path, **SCREEN)
