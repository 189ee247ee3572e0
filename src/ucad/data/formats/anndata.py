"""AnnData `.h5ad` files: cells × genes, and a column of `obs` that names the perturbation."""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ucad.data.blocks import StoredRows
from ucad.data.checks import check_matrix, some
from ucad.data.dataset import InterventionalData
from ucad.data.formats.counted import DEPTH
from ucad.data.formats.gene_names import names_as_labelled, unique_names
from ucad.data.formats.options import (
    TARGET_COLUMN,
    ReadOptions,
    parsed_as,
    require_column,
    side_columns,
    side_information,
    with_side_information,
)
from ucad.data.formats.stored import StoredSamples, dataset_of
from ucad.data.targets import label_of
from ucad.errors import FormatError, InvalidInputError, MissingDependencyError, did_you_mean
from ucad.files import parse_json, replacing

__all__ = ["from_anndata", "read_h5ad", "read_zarr", "write_h5ad"]

RAW = "raw"
"""The matrix that scanpy keeps beside X, often with more genes."""


def read_h5ad(path: Path, options: ReadOptions) -> InterventionalData:
    """Reads cells × genes in blocks; counts stay sparse until genes and cells are chosen."""
    anndata = _anndata()
    import h5py

    with parsed_as(path, "an AnnData file"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the file's age and its names, which we check
        with h5py.File(path, "r") as file:
            is_new = file["obs"].attrs.get("encoding-type") == "dataframe"
            stored = _Stored.of(file, options.matrix) if is_new else None
        if stored is None:  # an early version, which anndata translates
            return from_anndata(anndata.read_h5ad(path), options, path=path)
    return _read(stored, path, lambda: h5py.File(path, "r"), options)


def read_zarr(path: Path, options: ReadOptions) -> InterventionalData:
    """Reads an AnnData in a zarr folder, as `read_h5ad` reads a file."""
    _anndata()
    try:
        import zarr
    except ImportError:
        raise MissingDependencyError("zarr", "bio", "Reading .zarr folders") from None

    def opened() -> Any:
        return contextlib.nullcontext(zarr.open_group(path, mode="r"))

    with parsed_as(path, "an AnnData folder"), opened() as group, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stored = _Stored.of(group, options.matrix)
    return _read(stored, path, opened, options)


class _Stored(NamedTuple):
    """What is small in a stored AnnData; `side` for one of our own."""

    obs: Any
    var: Any
    side: str | None

    @classmethod
    def of(cls, group: Any, matrix: str) -> _Stored:
        from anndata.io import read_elem

        if "X" not in group:
            raise FormatError("It holds no matrix X.")
        side = group["uns/ucad"] if "uns" in group and "ucad" in group["uns"] else None
        text = None if side is None else read_elem(side)
        has_raw = matrix == RAW and _has_raw(group) and "var" in group["raw"]
        table = group["raw"]["var"] if has_raw else group["var"]
        text = text if isinstance(text, str) else None
        return cls(read_elem(group["obs"]), read_elem(table), text)


def _read(
    stored: _Stored, path: Path, opened: Callable[[], Any], options: ReadOptions
) -> InterventionalData:
    @contextlib.contextmanager
    def matrix() -> Iterator[Any]:
        with opened() as group:
            yield _matrix(group, options.matrix)

    if stored.side is not None:
        with parsed_as(path, "a data set of ucad"), opened() as group:
            x = np.asarray(_matrix(group, "X")[:])
            parts = (np.asarray(group["layers/is_intervened"]), stored.obs["regime"].to_numpy())
            side = parse_json(stored.side)
        check_matrix(x, may_be_empty=True)
        return with_side_information(x, *parts, [str(name) for name in stored.var.index], side)
    with parsed_as(path, "an AnnData file"):
        with matrix() as found:
            check_matrix(found)
        source = StoredRows(matrix)
    return _dataset(source, stored.var, stored.obs, options, path)


def _has_raw(group: Any) -> bool:
    """Whether there is a matrix before processing; a file can also say that there is none."""
    return RAW in group and hasattr(group[RAW], "keys") and "X" in group[RAW]


def _matrix(group: Any, name: str) -> Any:
    """X, or another matrix, not loaded: an array, or a sparse matrix that is sliced by rows."""
    layers = [f"layers/{layer}" for layer in group["layers"]] if "layers" in group else []
    known = ["X", *layers, *([RAW] if _has_raw(group) else [])]
    name = _known_matrix(name, known)
    X = group[f"{RAW}/X" if name == RAW else name]
    if "encoding-type" in X.attrs and "matrix" in str(X.attrs["encoding-type"]):
        from anndata.io import sparse_dataset

        return sparse_dataset(X)
    return X


def from_anndata(
    table: Any, options: ReadOptions, *, path: Path = Path("adata")
) -> InterventionalData:
    """Makes a data set of an AnnData, which may be backed by a file."""
    layers = [f"layers/{layer}" for layer in table.layers]
    known = ["X", *layers, *([] if table.raw is None else [RAW])]
    name = _known_matrix(options.matrix, known)
    holder = table.raw if name == RAW else table
    X = table.layers[name.removeprefix("layers/")] if name in layers else holder.X
    if X is None:
        raise FormatError(f"'{path}' holds no matrix X.")
    check_matrix(X)
    source = StoredRows(lambda: contextlib.nullcontext(X))
    return _dataset(source, holder.var, table.obs, options, path)


def _known_matrix(name: str, known: Sequence[str]) -> str:
    """Refuses a matrix that is not there; the name of a layer alone will do."""
    name = f"layers/{name}" if f"layers/{name}" in known else name
    if name not in known:
        raise InvalidInputError(
            f"There is no matrix '{name}' (--matrix).{did_you_mean(name, known)} There are "
            f"{', '.join(known)}."
        )
    return name


def _dataset(
    source: StoredRows, var: Any, obs: Any, options: ReadOptions, path: Path
) -> InterventionalData:
    columns = [str(column) for column in obs.columns]
    target = options.target or (TARGET_COLUMN if TARGET_COLUMN in columns else None)
    if target is None and columns:
        raise InvalidInputError(
            f"Say which column of 'obs' names the perturbation, with --target (target= "
            f"in Python). It has {some(columns)}."
        )
    if target is not None:
        require_column(target, columns, "perturbations in 'obs'")
    beside = [name for name in side_columns(options) if name != DEPTH or name in columns]
    for name in beside:
        require_column(name, columns, "context in 'obs'")
    if source.shape != (len(obs), len(var)):
        raise FormatError(
            f"'{path}' is damaged: X is {source.shape[0]} × {source.shape[1]}, and there are "
            f"{len(obs)} samples and {len(var)} variables."
        )
    known = {name: obs[name].to_numpy() for name in beside}
    labels = [""] * len(obs) if target is None else [label_of(label) for label in obs[target]]
    names, notes = names_as_labelled(var, labels, options.control)
    unique = unique_names(names)
    renamed = [new for old, new in zip(names, unique, strict=True) if old != new]
    if renamed:
        notes += (f"{len(renamed)} variable(s) had a name that was used before: {some(renamed)}.",)
    return dataset_of(StoredSamples(source, unique, labels, known, path, notes), options)


def write_h5ad(data: InterventionalData, path: Path) -> None:
    """Writes x, the regime and its name in `obs`, and what was clamped as a layer."""
    anndata = _anndata()
    import h5py
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
    table.strings_to_categoricals()
    image = io.BytesIO()  # on a full disk HDF5 can end the process: it writes into memory
    with h5py.File(image, "w") as file:
        anndata.io.write_elem(file, "/", table)
        file.pop("raw", None)  # it says that there is none, as others than anndata cannot read
    with replacing(path) as beside:
        beside.write_bytes(image.getbuffer())


def _anndata() -> Any:
    try:
        import anndata
    except ImportError:
        raise MissingDependencyError("anndata", "bio", "Reading and writing .h5ad files") from None
    return anndata
