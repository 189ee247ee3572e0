"""What a reader must be told, and what a table alone cannot say."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ucad._types import VariableSamples
from ucad.data.dataset import InterventionalData, Scaling
from ucad.errors import FormatError, InvalidInputError, did_you_mean

__all__ = [
    "ReadOptions",
    "columns_to_keep",
    "require_column",
    "side_information",
    "with_side_information",
    "write_beside",
]

REGIME_COLUMN = "regime"
TARGET_COLUMN = "target"


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to read a file.

    Attributes:
        target: the column that names what was clamped: one name, several joined by `;`, or nothing
            for an observational sample. By default `target`, if there is such a column.
        control: the label of observational samples in that column, besides the empty one.
        indicators: columns of zeros and ones that say which condition a sample was taken in, with
            the variable each clamps (`""` for one that is observational); the alternative to
            `target`.
        ignore: columns that are neither variables nor targets.
        drop_constant: leave out variables that never change instead of refusing them.
        min_mean: leave out variables whose mean is below this, such as genes hardly seen.
        log_counts: turn counts into log(1 + 10⁴ · count / total of the sample).
    """

    target: str | None = None
    control: str = ""
    indicators: Mapping[str, str] = field(default_factory=dict)
    ignore: Sequence[str] = ()
    drop_constant: bool = False
    min_mean: float | None = None
    log_counts: bool = False


def require_column(name: str, columns: Sequence[str], what: str) -> None:
    """Refuses a column that is not there."""
    if name not in columns:
        raise InvalidInputError(
            f"There is no column '{name}' for the {what}.{did_you_mean(name, columns)} "
            f"The columns are {', '.join(map(repr, columns[:8]))}{', …' * (len(columns) > 8)}."
        )


def columns_to_keep(x: VariableSamples, options: ReadOptions) -> np.ndarray:
    """The columns that `min_mean` and `drop_constant` leave."""
    keep = np.ones(x.shape[1], dtype=bool)
    if options.min_mean is not None:
        keep &= x.mean(axis=0) >= options.min_mean
    if options.drop_constant and len(x):
        keep &= x.min(axis=0) < x.max(axis=0)
    if not keep.any():
        raise InvalidInputError("No variable is left: all were dropped as constant or too small.")
    return np.flatnonzero(keep)


def side_information(data: InterventionalData) -> dict[str, Any]:
    """What a table with a target column cannot hold, as JSON."""
    return {
        "regime_names": data.regime_names,
        "layer_of": None if data.layer_of is None else data.layer_of.tolist(),
        "scaling": None if data.scaling is None else [part.tolist() for part in data.scaling],
        "is_part": data.is_part,
    }


def with_side_information(
    x: VariableSamples,
    clamps: np.ndarray,
    regime: np.ndarray,
    variable_names: Sequence[str],
    side: Mapping[str, Any],
) -> InterventionalData:
    """Puts a data set together again."""
    try:
        layers, scaling = side["layer_of"], side["scaling"]
        return InterventionalData(
            x,
            clamps,
            regime.astype(np.int64),
            tuple(variable_names),
            layer_of=None if layers is None else np.array(layers, dtype=np.int64),
            regime_names=tuple(side["regime_names"]),
            scaling=None if scaling is None else Scaling(*(np.array(part) for part in scaling)),
            is_part=bool(side["is_part"]),
        )
    except (KeyError, TypeError) as error:
        raise FormatError(f"The data set's side information is damaged: {error!r}.") from error


def write_beside(path: Path, text: str) -> None:
    """Writes a text file beside and moves it into place."""
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, delete=False, encoding="utf-8", newline=""
    ) as file:
        file.write(text)
    os.replace(file.name, path)


def read_json(path: Path) -> dict[str, Any]:
    """Reads a JSON object."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise FormatError(f"'{path}' is not a JSON object: {error}.") from error
