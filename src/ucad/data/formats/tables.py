"""csv and parquet: one column a variable, and one that names what was clamped."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ucad._types import VariableSamples
from ucad.data.checks import split_targets
from ucad.data.dataset import InterventionalData
from ucad.data.formats.options import (
    REGIME_COLUMN,
    TARGET_COLUMN,
    ReadOptions,
    columns_to_keep,
    read_json,
    require_column,
    side_information,
    with_side_information,
    write_beside,
)
from ucad.errors import FormatError, InvalidInputError, MissingDependencyError

__all__ = ["from_columns", "read_csv", "read_parquet", "write_csv", "write_parquet"]

_METADATA = b"ucad"


def read_csv(path: Path, options: ReadOptions) -> InterventionalData:
    """Reads a comma (`.csv`) or tab (`.tsv`, `.txt`) separated table with a header line."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file, delimiter="," if path.suffix.lower() == ".csv" else "\t"))
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"'{path}' is not a text table: {error}.") from error
    rows = [row for row in rows if row]
    if len(rows) < 2:
        raise FormatError(f"'{path}' has no samples: it needs a header line and a line a sample.")
    header = [name.strip() for name in rows[0]]
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise FormatError(
                f"Line {number} of '{path}' has {len(row)} fields, the header {len(header)}."
            )
    columns = dict(zip(header, zip(*rows[1:], strict=True), strict=True))
    if len(columns) != len(header):
        raise FormatError(f"'{path}' has two columns of the same name.")
    side = _side_path(path)
    return from_columns(columns, options, read_json(side) if side.exists() else None)


def write_csv(data: InterventionalData, path: Path) -> None:
    """Writes the variables, `target` and `regime`; numbers so that they are read back exactly."""
    buffer = io.StringIO()
    delimiter = "," if path.suffix.lower() == ".csv" else "\t"
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow([*data.variable_names, TARGET_COLUMN, REGIME_COLUMN])
    for values, label, regime in zip(data.x.tolist(), _labels(data), data.regime, strict=True):
        writer.writerow([*map(repr, values), label, regime])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_beside(path, buffer.getvalue())
    write_beside(_side_path(path), json.dumps(side_information(data)))


def read_parquet(path: Path, options: ReadOptions) -> InterventionalData:
    """Reads a parquet table."""
    parquet = _pyarrow_parquet()
    try:
        table = parquet.read_table(path)
    except (OSError, ValueError) as error:
        raise FormatError(f"'{path}' is not a parquet file: {error}.") from error
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    stored = (table.schema.metadata or {}).get(_METADATA)
    return from_columns(columns, options, None if stored is None else json.loads(stored))


def write_parquet(data: InterventionalData, path: Path) -> None:
    """Writes the variables, `target` and `regime`, the rest into the table's metadata."""
    parquet = _pyarrow_parquet()
    import pyarrow

    columns: dict[str, Any] = dict(zip(data.variable_names, data.x.T, strict=True))
    columns |= {TARGET_COLUMN: _labels(data), REGIME_COLUMN: data.regime}
    table = pyarrow.table(columns)
    metadata = {_METADATA: json.dumps(side_information(data))}
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    parquet.write_table(table.replace_schema_metadata(metadata), beside)
    beside.replace(path)


def from_columns(
    columns: dict[str, Any], options: ReadOptions, side: dict[str, Any] | None = None
) -> InterventionalData:
    """Makes a data set from named columns; `side` marks a table that ucad wrote itself."""
    columns = dict(columns)
    names = list(columns)
    regime = columns.pop(REGIME_COLUMN) if side is not None and REGIME_COLUMN in names else None
    flags = _take_indicators(columns, options)
    labels = _take_labels(columns, options)
    for name in options.ignore:
        require_column(name, names, "columns to ignore")
        columns.pop(name, None)
    if not columns:
        raise FormatError("The table has no column that could be a variable.")
    x = np.stack([_numbers(name, values) for name, values in columns.items()], axis=1)
    variables = tuple(columns)
    if side is not None and regime is not None:
        clamps = np.array([np.isin(variables, split_targets(label)) for label in labels])
        return with_side_information(x, clamps, np.asarray(regime, dtype=np.int64), variables, side)
    keep = columns_to_keep(x, options)
    kept = [variables[column] for column in keep]
    if flags:
        return _by_condition(x[:, keep], kept, flags, options)
    return InterventionalData.from_targets(
        x[:, keep], labels, variable_names=kept, control=options.control
    )


def _take_indicators(columns: dict[str, Any], options: ReadOptions) -> dict[str, np.ndarray]:
    """Takes the indicator columns out of the table."""
    for name in options.indicators:
        require_column(name, list(columns), "conditions")
    return {name: _numbers(name, columns.pop(name)) != 0 for name in options.indicators}


def _by_condition(
    x: VariableSamples, variables: list[str], flags: dict[str, np.ndarray], options: ReadOptions
) -> InterventionalData:
    """One regime for every combination of conditions that is not observational."""
    clamping = [name for name in flags if options.indicators[name]]
    labels = [";".join(name for name in clamping if flags[name][row]) for row in range(len(x))]
    names = ["observational", *dict.fromkeys(filter(None, labels))]
    regime = np.array([names.index(label or "observational") for label in labels])
    clamps = np.array([np.isin(variables, _targets_of(name, options)) for name in names])
    return InterventionalData(
        x, clamps[regime], regime, tuple(variables), regime_names=tuple(names)
    )


def _targets_of(conditions: str, options: ReadOptions) -> list[str]:
    clamped = [options.indicators.get(name, "") for name in split_targets(conditions)]
    return split_targets(";".join(clamped))


def _take_labels(columns: dict[str, Any], options: ReadOptions) -> list[str]:
    """Takes the column or the indicator columns that name the targets out of the table."""
    names, n_samples = list(columns), len(next(iter(columns.values())))
    target = options.target
    if target is None:
        if TARGET_COLUMN not in columns:
            return [""] * n_samples
        target = TARGET_COLUMN
    require_column(target, names, "targets")
    return ["" if value is None or value != value else str(value) for value in columns.pop(target)]


def _numbers(name: str, values: Sequence[Any] | np.ndarray) -> Float[np.ndarray, " samples"]:
    """The values of a column as float64, or an error that names the first that is no number."""
    try:
        return np.asarray(values).astype(np.float64)
    except (ValueError, TypeError):
        for row, value in enumerate(values):
            try:
                float(value)
            except (ValueError, TypeError):
                shown = "empty" if value in ("", None) else f"'{value}'"
                raise InvalidInputError(
                    f"Column '{name}' must hold numbers. Row {row} is {shown}. If it is not a "
                    f"variable, name it as the target column or ignore it."
                ) from None
        raise


def _labels(data: InterventionalData) -> list[str]:
    by_regime = [
        ";".join(data.variable_names[j] for j in np.flatnonzero(row)) for row in data.targets
    ]
    return [by_regime[regime] for regime in data.regime]


def _side_path(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _pyarrow_parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingDependencyError("pyarrow", "parquet", "Reading and writing parquet") from None
    return parquet
