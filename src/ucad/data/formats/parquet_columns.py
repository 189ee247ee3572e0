"""The columns of a Parquet file, decoded some samples at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["columns_in_batches"]

ROWS_AT_ONCE = 8192
"""Samples that are decoded at a time: 33 MB of 500 variables."""


def columns_in_batches(file: Any, others: set[str]) -> dict[str, Any]:
    """The columns by name: numbers as columns of one matrix, but for `others`.

    Samples are decoded some at a time, so that a table takes hardly more than its matrix.
    """
    import pyarrow

    names, kinds = file.schema_arrow.names, file.schema_arrow.types
    is_number = [
        (pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind)) and name not in others
        for name, kind in zip(names, kinds, strict=True)
    ]
    slots = dict(zip(np.flatnonzero(is_number).tolist(), range(sum(is_number)), strict=True))
    rest = [at for at in range(len(names)) if at not in slots]
    x, at, kept = np.empty((file.metadata.num_rows, len(slots))), 0, []
    for batch in file.iter_batches(ROWS_AT_ONCE):
        for column, slot in slots.items():
            x[at : at + len(batch), slot] = batch.column(column).to_numpy(zero_copy_only=False)
        kept.append(batch.select(rest))
        at += len(batch)
    schema = pyarrow.schema([file.schema_arrow.field(column) for column in rest])
    table = pyarrow.Table.from_batches(kept, schema=None if kept else schema)
    return {
        name: x[:, slots[at]] if at in slots else table.column(rest.index(at)).to_numpy()
        for at, name in enumerate(names)
    }
