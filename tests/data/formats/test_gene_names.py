import numpy as np
import pytest

import ucad
from ucad.data.formats.gene_names import names_as_labelled

anndata = pytest.importorskip("anndata")
pandas = pytest.importorskip("pandas")


@pytest.fixture
def cells():
    """Genes with Ensembl's numbers as their index and symbols, one of them missing, beside."""
    var = pandas.DataFrame(
        {"n_cells": [3, 4, 5, 6], "feature_name": ["STAT1", "JAK2", None, "IRF1"]},
        index=[f"ENSG{number:03d}" for number in range(4)],
    )
    labels = ["NT", "STAT1_g1", "JAK2_g2", "MYC"] * 20
    obs = pandas.DataFrame({"gene": labels}, index=[str(row) for row in range(80)])
    counts = np.random.default_rng(0).poisson(5.0, (80, 4)).astype(float)
    return anndata.AnnData(counts, obs, var)


def test_targets_are_found_in_a_column_of_var_where_the_index_has_none(cells, tmp_path):
    cells.write_h5ad(tmp_path / "cells.h5ad")
    data = ucad.read(tmp_path / "cells.h5ad", target="gene")
    assert data.variable_names == ("STAT1", "JAK2", "ENSG002", "IRF1")
    assert data.regime_names == ("observational", "STAT1", "JAK2", "MYC")
    assert data.unmeasured_regimes == ("MYC",)
    assert any("column 'feature_name' of 'var'" in note for note in data.notes)


def test_the_index_stands_where_one_label_is_found_in_it(cells):
    cells.var["other"] = cells.var.pop("feature_name")
    labels = ["ENSG000", "STAT1", "JAK2"]
    assert names_as_labelled(cells.var, labels) == (list(cells.var.index), ())


def test_columns_in_which_no_label_is_found_change_nothing(cells):
    assert names_as_labelled(cells.var, ["", "NT", "MYC"]) == (list(cells.var.index), ())


def test_loadings_stand_in_the_rows_of_genes_that_a_column_names(cells):
    cells.X[:, 1:] += 3 * cells.X[:, :1]
    graph = ucad.tl.factors(cells, target="gene", control="NT", model=ucad.UCAD(1)).graph_
    has_edge = (graph.Q | graph.R).any(axis=1)
    assert has_edge.sum() >= 3
    loadings = np.hstack([cells.varm["ucad_parents"], cells.varm["ucad_children"]])
    assert (loadings.any(axis=1) == has_edge).all()
