import numpy as np
import pytest

import ucad
from ucad.data.readings import counts_behind
from ucad.errors import InvalidInputError

anndata = pytest.importorskip("anndata")
pandas = pytest.importorskip("pandas")
sparse = pytest.importorskip("scipy.sparse")

pytestmark = pytest.mark.filterwarnings("ignore:Variable names are not unique")


@pytest.fixture
def cells():
    """120 cells × 12 genes, two of one name, sparse whole numbers, labels as categories."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(3.0 * rng.lognormal(0.0, 0.4, (120, 1)), (120, 12))
    labels = ["NT", "A", "A+B", "B+NT"] * 30
    obs = pandas.DataFrame(
        {"gene": pandas.Categorical(labels), "lane": pandas.Categorical(["x", "y"] * 60)},
        index=[f"cell{row}" for row in range(120)],
    )
    names = list("ABCDCEFGHIJK")
    table = anndata.AnnData(sparse.csr_matrix(counts), obs, pandas.DataFrame(index=names))
    table.layers["counts"] = table.X.copy()
    table.X = sparse.csr_matrix(np.log1p(counts / 7.0))
    return table, counts


def test_a_screen_is_read_with_its_counts_combinations_and_names(cells, tmp_path):
    table, counts = cells
    path = tmp_path / "cells.h5ad"
    table.write_h5ad(path)
    options = {"target": "gene", "control": "NT", "counts": True, "matrix": "layers/counts"}
    data = ucad.read(path, **options, context=["lane", "log_depth"])
    assert data.variable_names == (*"ABCD", "C-1", *"EFGHIJK")
    assert data.regime_names == ("observational", "A", "A;B", "B")
    behind = counts_behind(data.x)
    assert behind is not None
    np.testing.assert_allclose(behind.rate * behind.depth[:, None], counts, atol=1e-6)
    assert data.context.names == ("lane=x", "lane=y", "log_depth")
    np.testing.assert_allclose(data.context.values[:, 2], np.log(counts.sum(axis=1)))


def test_values_that_are_no_counts_are_refused_with_advice(cells, tmp_path):
    path = tmp_path / "cells.h5ad"
    cells[0].write_h5ad(path)
    with pytest.raises(InvalidInputError, match="--matrix layers/counts"):
        ucad.read(path, target="gene", counts=True)
    with pytest.raises(InvalidInputError, match=r"no matrix 'layers/count'.* 'layers/counts'"):
        ucad.read(path, target="gene", matrix="layers/count")


def test_a_table_of_counts_is_read_like_an_anndata(cells, tmp_path):
    table, counts = cells
    frame = pandas.DataFrame(counts, columns=list("ABCDEFGHIJKL")).assign(
        gene=list(table.obs["gene"])
    )
    path = tmp_path / "cells.csv"
    frame.to_csv(path, index=False)
    data = ucad.read(path, target="gene", control="NT", counts=True, context=["log_depth"])
    depth = counts.sum(axis=1) / np.median(counts.sum(axis=1))
    np.testing.assert_allclose(data.x, np.log1p(counts / depth[:, None]))
    assert data.regime_names[2] == "A;B"


def test_two_ways_to_read_counts_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="Give one of them"):
        ucad.read(tmp_path, counts=True, log_counts=True)


@pytest.mark.parametrize("name", ["raw_counts", "layers/raw_counts"])
def test_a_layer_whose_name_has_raw_in_it_is_read(cells, tmp_path, name):
    table, counts = cells
    table.layers["raw_counts"] = table.layers.pop("counts")
    table.write_h5ad(tmp_path / "cells.h5ad")
    data = ucad.read(tmp_path / "cells.h5ad", target="gene", control="NT", matrix=name)
    np.testing.assert_allclose(data.x, counts)
