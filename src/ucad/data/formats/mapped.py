"""npy: a matrix that is mapped into memory, with a table of its samples beside it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np

from ucad.data.blocks import StoredRows
from ucad.data.checks import check_matrix
from ucad.data.dataset import InterventionalData
from ucad.data.formats.cells import check_widths, columns_of
from ucad.data.formats.counted import DEPTH
from ucad.data.formats.dialect import rows_of
from ucad.data.formats.options import (
    TARGET_COLUMN,
    ReadOptions,
    parsed_as,
    require_column,
    side_columns,
)
from ucad.data.formats.stored import StoredSamples, dataset_of
from ucad.data.targets import label_of
from ucad.errors import FormatError, UcadError
from ucad.files import read_text

__all__ = ["read_npy"]


def read_npy(path: Path, options: ReadOptions) -> InterventionalData:
    """Reads samples × variables in blocks; the variables are X1, X2, ….

    What was clamped and the context are columns of `NAME.obs.csv`, one line per sample, if it is
    there; else all samples are observational.
    """

    def opened() -> Any:
        return contextlib.nullcontext(np.load(path, mmap_mode="r", allow_pickle=False))

    try:
        with opened() as found:
            check_matrix(found)
    except UcadError:
        raise
    except (ValueError, EOFError, OSError) as error:
        # numpy's own message advises to unpickle the file, which would run code from it
        raise FormatError(f"'{path}' is not an npy file of a plain array.") from error
    n_samples, n = found.shape
    columns = _samples(path.with_suffix(".obs.csv"), n_samples)
    target = options.target or TARGET_COLUMN
    if options.target is not None:
        require_column(target, list(columns), "targets")
    beside = [name for name in side_columns(options) if name != DEPTH or name in columns]
    for name in beside:
        require_column(name, list(columns), "context")
    labels = [label_of(label) for label in columns.get(target, [""] * n_samples)]
    known = {name: np.array(columns[name]) for name in beside}
    names = [f"X{number}" for number in range(1, n + 1)]
    return dataset_of(StoredSamples(StoredRows(opened), names, labels, known, path), options)


def _samples(path: Path, n_samples: int) -> dict[str, Any]:
    """The table of the samples by column; nothing if there is none."""
    if not path.exists():
        return {}
    with parsed_as(path, "a text table"):
        rows = rows_of(read_text(path), path, guess=True)
    check_widths(path, rows)
    if len(rows) != n_samples + 1:
        raise FormatError(
            f"'{path}' must have a header and one line per sample, {n_samples}. Got "
            f"{len(rows)} lines."
        )
    return columns_of(path, rows, [name.strip() for name in rows[0]])
