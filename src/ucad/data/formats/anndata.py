"""AnnData `.h5ad` files: cells × genes, and a column of `obs` that names the perturbation."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ucad.data.checks import check_matrix
from ucad.data.dataset import InterventionalData
from ucad.data.formats.options import (
    TARGET_COLUMN,
    ReadOptions,
    beside_variables,
    columns_to_keep,
    parsed_as,
    require_column,
    side_columns,
    side_information,
    with_side_information,
)
from ucad.data.missing import without_missing
from ucad.data.targets import control_notes, label_of
from ucad.errors import FormatError, InvalidInputError, MissingDependencyError
from ucad.files import parse_json, replacing

__all__ = ["from_anndata", "read_h5ad", "write_h5ad"]

_COUNTS_PER_CELL = 1e4
"""Counts per cell to which all cells are scaled before the logarithm, the convention of scanpy."""


def read_h5ad(path: Path, options: ReadOptions) -> InterventionalData:
    """Reads cells × genes; sparse counts become dense, after the genes hardly seen are left out."""
    anndata = _anndata()
    with parsed_as(path, "an AnnData file"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the file's age and its names, which we check
        table = anndata.read_h5ad(path)
        if table.X is None:
            raise FormatError(f"'{path}' holds no matrix X.")
        x = _dense(table.X)
    names = [str(name) for name in table.var_names]
    is_ours = isinstance(table.uns.get("ucad"), str)
    check_matrix(x, may_be_empty=is_ours)
    if is_ours:
        with parsed_as(path, "a data set of ucad"):
            parts = (np.asarray(table.layers["is_intervened"]), table.obs["regime"].to_numpy())
            side = parse_json(table.uns["ucad"])
        return with_side_information(x, *parts, names, side)
    return from_anndata(table, options, x)


def from_anndata(
    table: Any, options: ReadOptions, x: np.ndarray | None = None
) -> InterventionalData:
    """Makes a data set of an AnnData, which may be backed by a file; `x` is its dense matrix."""
    x = _dense(table.X) if x is None else x
    check_matrix(x)
    names = [str(name) for name in table.var_names]
    columns = [str(column) for column in table.obs.columns]
    target = options.target or (TARGET_COLUMN if TARGET_COLUMN in columns else None)
    if target is None:
        raise InvalidInputError(
            f"Say which column of 'obs' names the perturbation (target=…). It has {columns}."
        )
    require_column(target, columns, "perturbations in 'obs'")
    for name in side_columns(options):
        require_column(name, columns, "context in 'obs'")
    known = {name: table.obs[name].to_numpy() for name in side_columns(options)}
    keep, notes = columns_to_keep(x, names, options)
    kept = [names[column] for column in keep]
    labels = [label_of(label) for label in table.obs[target]]
    values = (_log_counts(x) if options.log_counts else x.astype(np.float64))[:, keep]
    filled = without_missing(values, kept, labels, options.missing)
    data = InterventionalData.from_targets(
        filled.x,
        [labels[row] for row in filled.rows],
        variable_names=kept,
        control=options.control,
    )
    data = filled.marked(data, *notes, *control_notes(labels, options.control))
    return beside_variables(data, options, known, filled.rows)


def write_h5ad(data: InterventionalData, path: Path) -> None:
    """Writes x, the regime and its name in `obs`, and what was clamped as a layer."""
    anndata = _anndata()
    import pandas as pd

    index = [str(row) for row in range(data.n_samples)]
    regimes = [data.regime_names[regime] for regime in data.regime]
    table = anndata.AnnData(
        X=np.array(data.x),
        obs=pd.DataFrame({TARGET_COLUMN: regimes, "regime": data.regime}, index=index),
        var=pd.DataFrame(index=list(data.variable_names)),
        layers={"is_intervened": data.is_intervened.astype(np.uint8)},
        uns={"ucad": json.dumps(side_information(data))},
    )
    with replacing(path) as beside:
        table.write_h5ad(beside)


def _dense(matrix: Any) -> np.ndarray:
    """A matrix in memory as an array, whether it is sparse, backed by a file, or neither."""
    loaded = matrix.to_memory() if hasattr(matrix, "to_memory") else matrix
    return np.asarray(loaded.toarray() if hasattr(loaded, "toarray") else loaded)


def _log_counts(counts: np.ndarray) -> np.ndarray:
    """log(1 + 10⁴ · count / total of the cell)."""
    if (counts < 0).any():
        raise InvalidInputError("Counts must be at least 0 to be turned into logarithms.")
    totals = np.nansum(counts, axis=1, keepdims=True, dtype=np.float64)
    return np.log1p(_COUNTS_PER_CELL * counts / np.where(totals > 0, totals, 1.0))


def _anndata() -> Any:
    try:
        import anndata
    except ImportError:
        raise MissingDependencyError("anndata", "bio", "Reading and writing .h5ad files") from None
    return anndata
