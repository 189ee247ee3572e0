"""Matrices that may be larger than memory: read in blocks of rows, sparse until they are used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from ucad._types import VariableSamples

__all__ = ["ColumnSums", "Source", "StoredRows", "gather", "scan"]

BLOCK_BYTES = 2**26
"""The size of a block if it were dense: small beside any data set that is read in blocks, large
beside what a read costs by itself."""

Change = Callable[[Float[np.ndarray, "rows some"], Int[np.ndarray, " rows"]], np.ndarray]
"""What is made of dense rows with their numbers."""


@runtime_checkable
class Source(Protocol):
    """Samples × variables, somewhere."""

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and variables."""
        ...

    def blocks(self) -> Iterator[tuple[int, Any]]:
        """The number of a block's first row, and the block: an array, or sparse by rows."""
        ...


class StoredRows:
    """Whatever is sliced by rows: an array, mapped or not, of HDF5 or zarr, or a sparse matrix.

    A matrix stored sparse by columns cannot be sliced: it is loaded, and stays sparse.

    Args:
        opened: opens what holds the matrix, for as long as it is read.
    """

    def __init__(self, opened: Callable[[], AbstractContextManager[Any]]) -> None:
        with opened() as matrix:
            self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
            if getattr(matrix, "format", "csr") != "csr":
                loaded = matrix.to_memory() if hasattr(matrix, "to_memory") else matrix
                opened = partial(nullcontext, loaded.tocsr())
        self._opened = opened

    def blocks(self) -> Iterator[tuple[int, Any]]:
        """Blocks of as many rows as fit."""
        step = max(1, BLOCK_BYTES // (8 * max(1, self.shape[1])))
        with self._opened() as matrix:
            for start in range(0, self.shape[0], step):
                block = matrix[start : start + step]
                yield start, block.tocsr() if hasattr(block, "tocsr") else np.asarray(block)


class ColumnSums(NamedTuple):
    """What one pass over the rows tells; missing values (NaN) are not counted.

    Attributes:
        n_values: values per variable that are there.
        total: their sums.
        low: the smallest of each variable.
        high: the largest of each variable.
        depth: the sum of every sample.
    """

    n_values: Int[np.ndarray, " variables"]
    total: Float[np.ndarray, " variables"]
    low: Float[np.ndarray, " variables"]
    high: Float[np.ndarray, " variables"]
    depth: Float[np.ndarray, " samples"]


def scan(source: Source) -> ColumnSums:
    """One pass over a source; O(values that are stored) time, one block of memory."""
    n_samples, n = source.shape
    n_values, total = np.full(n, n_samples, dtype=np.int64), np.zeros(n)
    low, high, depth = np.full(n, np.inf), np.full(n, -np.inf), np.zeros(n_samples)
    for start, block in source.blocks():
        values, gaps = _without_gaps(block)
        n_values -= gaps
        total += np.asarray(values.sum(axis=0), dtype=np.float64).reshape(-1)
        depth[start : start + block.shape[0]] = np.asarray(values.sum(axis=1)).reshape(-1)
        small, large = _extremes(block)
        low, high = np.fmin(low, small), np.fmax(high, large)
    return ColumnSums(n_values, total, low, high, depth)


def gather(
    source: Source,
    rows: Int[np.ndarray, " rows"],
    columns: Sequence[int] | Int[np.ndarray, " some"],
    change: Change | None = None,
) -> VariableSamples:
    """Some rows (ascending) and columns of a source as a dense matrix in double precision."""
    out = np.empty((len(rows), len(columns)))
    for start, block in source.blocks():
        first, last = np.searchsorted(rows, [start, start + block.shape[0]])
        if first < last:
            part = block[rows[first:last] - start][:, columns]
            dense = part.toarray() if hasattr(part, "toarray") else part
            dense = dense.astype(np.float64, copy=False)
            out[first:last] = dense if change is None else change(dense, rows[first:last])
    return out


def _without_gaps(block: Any) -> tuple[Any, Int[np.ndarray, " variables"]]:
    """The block in double precision with 0 for NaN, and how many NaN each column has."""
    values = block.astype(np.float64)
    stored = values.data if hasattr(values, "toarray") else values
    is_gap = np.isnan(stored)
    if not is_gap.any():
        return values, np.zeros(block.shape[1], dtype=np.int64)
    stored[is_gap] = 0.0
    if hasattr(values, "toarray"):
        return values, np.bincount(values.indices[is_gap], minlength=block.shape[1])
    return values, is_gap.sum(axis=0)


def _extremes(block: Any) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest value of each column, NaN where it has none."""
    if hasattr(block, "toarray"):
        return tuple(  # type: ignore[return-value]
            np.asarray(part.toarray(), dtype=np.float64).reshape(-1)
            for part in (block.nanmin(axis=0), block.nanmax(axis=0))
        )
    values = block.astype(np.float64, copy=False)
    return np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
