import numpy as np
import pytest

import ucad
from ucad.errors import InvalidInputError
from ucad.simulate.worlds import screen_problem

anndata = pytest.importorskip("anndata")


def cells(n_factors=2):
    import pandas as pd

    data = screen_problem(0, n_factors=n_factors, parents=2, children=4, n_samples=1500).train
    labels = [data.regime_names[r].replace("observational", "NT") for r in data.regime]
    obs = pd.DataFrame({"gene": labels}, index=[str(i) for i in range(len(labels))])
    x = np.column_stack([np.zeros(data.n_samples), data.x])
    var = pd.DataFrame(index=["flat", *data.variable_names])
    return anndata.AnnData(x, obs=obs, var=var)


@pytest.mark.parametrize("backed", [False, True])
def test_factors_loadings_and_verdict_are_written_where_they_are_looked_for(tmp_path, backed):
    adata = cells()
    if backed:
        adata.write_h5ad(tmp_path / "cells.h5ad")
        adata = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    linear = {"factor_mechanism": "linear", "variable_mechanism": "linear"}
    model = ucad.tl.factors(
        adata, target="gene", control="NT", model=ucad.UCAD(2, solver="search", **linear)
    )
    assert adata.obsm["X_ucad"].shape == (adata.n_obs, 2)
    np.testing.assert_array_equal(adata.varm["ucad_parents"][1:] != 0, model.graph_.Q)
    np.testing.assert_array_equal(adata.varm["ucad_children"][1:] != 0, model.graph_.R)
    assert not adata.varm["ucad_children"][0].any()
    assert adata.uns["ucad"]["verdict"] == model.certificate_.verdict
    if not backed:
        adata.write_h5ad(tmp_path / "with-factors.h5ad")
        back = ucad.read(
            tmp_path / "with-factors.h5ad", target="gene", control="NT", drop_constant=True
        )
        assert back.n_variables == adata.n_vars - 1


def test_what_is_no_anndata_is_refused():
    with pytest.raises(InvalidInputError, match="must be an AnnData. Got ndarray"):
        ucad.tl.factors(np.zeros((3, 2)), target="gene")
