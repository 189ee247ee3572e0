"""Counts as they come: their depth, and log(1 + count / depth), from which both are found again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ucad._types import VariableSamples
from ucad.data.formats.options import ReadOptions
from ucad.errors import InvalidInputError

__all__ = ["DEPTH", "check_counts", "kept_values", "log_normalised", "unit_depth", "with_depth"]

COUNTS_PER_CELL = 1e4
"""Counts per cell to which all cells are scaled before the logarithm, the convention of scanpy."""

DEPTH = "log_depth"
"""The column of context that is made of the totals of the samples where there is none."""

Depth = Float[np.ndarray, " samples"]


def unit_depth(depth: Depth, options: ReadOptions) -> Depth | None:
    """The count that becomes 1 before the logarithm, per sample; None where counts stay as is.

    With `log_counts` the total over 10⁴. With `counts` the total over the median total, so that
    a count of 1 stays about 1, whether 300 genes were counted or 30,000.
    """
    if options.counts:
        found = depth[depth > 0]
        unit = depth / (np.median(found) if len(found) else 1.0)
    elif options.log_counts:
        unit = depth / COUNTS_PER_CELL
    else:
        return None
    return np.where(depth > 0, unit, 1.0)


def log_normalised(
    values: Float[np.ndarray, "rows columns"], unit: Float[np.ndarray, " rows"]
) -> Float[np.ndarray, "rows columns"]:
    """log(1 + count / unit)."""
    return np.asarray(np.log1p(values / unit[:, None]))


def kept_values(
    x: VariableSamples,
    keep: Int[np.ndarray, " kept"],
    unit: Depth | None,
    options: ReadOptions,
) -> Float[np.ndarray, "samples kept"]:
    """The columns that are kept, as the options say: values, or logarithms of counts."""
    values = x if len(keep) == x.shape[1] else x[:, keep]
    if unit is None:
        return values
    check_counts(values, options)
    return log_normalised(values, unit)


def with_depth(known: Mapping[str, Any], depth: Depth, options: ReadOptions) -> dict[str, Any]:
    """The columns of context, with the logarithm of the totals where `log_depth` is asked for."""
    if DEPTH not in options.context or DEPTH in known:
        return dict(known)
    return {**known, DEPTH: np.log(np.maximum(depth, 1.0))}


def check_counts(values: np.ndarray, options: ReadOptions) -> None:
    """Refuses what is no count where counts are asked for; missing values do not count.

    Raises:
        InvalidInputError: a value is negative, or with `counts` not whole.
    """
    seen = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    if (seen < 0).any():
        raise InvalidInputError("Counts must be at least 0 to be turned into logarithms.")
    odd = seen[seen != np.round(seen)] if options.counts else seen[:0]
    if len(odd):
        shown = ", ".join(f"{value:g}" for value in odd[:3].tolist())
        raise InvalidInputError(
            f"--counts (counts=True) wants whole numbers. Got {shown}. Name the matrix that holds "
            f"the counts (--matrix layers/counts or --matrix raw), or leave the option out."
        )
