"""csv and parquet: one column a variable, and one that names what was clamped."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ucad._types import VariableSamples
from ucad.data.dataset import InterventionalData
from ucad.data.formats.cells import (
    INDEX_NAMES,
    as_matrix,
    as_numbers,
    check_named,
    check_widths,
    columns_of,
    take_index,
)
from ucad.data.formats.composition import units
from ucad.data.formats.counted import DEPTH, kept_values, with_depth
from ucad.data.formats.dialect import rows_of
from ucad.data.formats.options import (
    REGIME_COLUMN,
    TARGET_COLUMN,
    ReadOptions,
    beside_variables,
    columns_to_keep,
    is_side_information,
    parsed_as,
    require_column,
    side_columns,
    side_information,
    with_side_information,
)
from ucad.data.formats.parquet_columns import columns_in_batches
from ucad.data.formats.plain_text import opened_plain
from ucad.data.labels import read_labels
from ucad.data.missing import without_missing
from ucad.data.targets import check_targets, control_notes, join_targets, label_of, split_targets
from ucad.errors import (
    FormatError,
    InvalidInputError,
    MissingDependencyError,
)
from ucad.files import parse_json, read_json, read_text, replacing, write_text

__all__ = ["from_columns", "read_csv", "read_parquet", "write_csv", "write_parquet"]

_METADATA = b"ucad"


def read_csv(path: Path, options: ReadOptions) -> InterventionalData:
    """Reads a comma (`.csv`) or tab (`.tsv`, `.txt`) separated table with a header line."""
    side = _side_of(path)
    plain = opened_plain(path, guess=side is None)
    if plain is not None:
        header = _header(path, plain.header, side)
        columns = plain.columns(header, _no_variables(options, side))
        if columns is not None:
            return from_columns(columns, options, side)
    with parsed_as(path, "a text table"):
        rows = rows_of(read_text(path), path, guess=side is None)
    if len(rows) < 2:
        raise FormatError(f"'{path}' has no samples: it needs a header line and a line per sample.")
    check_widths(path, rows)
    header = _header(path, rows[0], side)
    return from_columns(columns_of(path, rows, header), options, side)


def write_csv(data: InterventionalData, path: Path) -> None:
    """Writes the variables, `target` and `regime`; numbers so that they are read back exactly."""
    _check_side_free(path)
    buffer = io.StringIO()
    names = _extra_columns(data.variable_names)
    writer = csv.writer(
        buffer,
        delimiter="," if path.suffix.lower() == ".csv" else "\t",
        lineterminator="\n",
        # a name with a line break in it must be quoted, which not every version of csv sees
        quoting=csv.QUOTE_NONNUMERIC if _has_breaks(data) else csv.QUOTE_MINIMAL,
    )
    writer.writerow([*data.variable_names, *names.values()])
    for values, label, regime in zip(data.x.tolist(), _labels(data), data.regime, strict=True):
        writer.writerow([*values, label, int(regime)])
    write_text(_side_path(path), json.dumps(side_information(data) | {"columns": names}))
    write_text(path, buffer.getvalue())


def read_parquet(path: Path, options: ReadOptions) -> InterventionalData:
    """Reads a parquet table."""
    parquet = _pyarrow_parquet()
    with parsed_as(path, "a parquet file"):
        doubled = [n for n, count in Counter(parquet.read_schema(path).names).items() if count > 1]
        if doubled:
            raise FormatError(f"'{path}' has two columns of the same name: '{doubled[0]}'.")
        with parquet.ParquetFile(path) as file:
            stored = (file.schema_arrow.metadata or {}).get(_METADATA)
            side = None if stored is None else dict(parse_json(stored))
            columns = columns_in_batches(file, _no_variables(options, side))
    return from_columns(columns, options, side)


def write_parquet(data: InterventionalData, path: Path) -> None:
    """Writes the variables, `target` and `regime`, the rest into the table's metadata."""
    parquet = _pyarrow_parquet()
    import pyarrow

    names = _extra_columns(data.variable_names)
    columns: dict[str, Any] = dict(zip(data.variable_names, data.x.T, strict=True))
    columns |= {names[TARGET_COLUMN]: _labels(data), names[REGIME_COLUMN]: data.regime}
    metadata = {_METADATA: json.dumps(side_information(data) | {"columns": names})}
    with replacing(path) as beside:
        parquet.write_table(pyarrow.table(columns).replace_schema_metadata(metadata), beside)


def from_columns(
    columns: dict[str, Any], options: ReadOptions, side: dict[str, Any] | None = None
) -> InterventionalData:
    """Makes a data set from named columns; `side` marks a table that ucad wrote itself."""
    columns = dict(columns)
    extra = {TARGET_COLUMN: TARGET_COLUMN, REGIME_COLUMN: REGIME_COLUMN}
    if side is not None:
        stored = side.get("columns")
        extra |= stored if isinstance(stored, dict) else {}
    names = list(columns)
    regime = columns.pop(extra[REGIME_COLUMN], None) if side is not None else None
    wanted = {options.target or TARGET_COLUMN, *options.indicators, *options.ignore}
    wanted |= set(side_columns(options))
    notes = () if side is not None else take_index(columns, wanted)
    flags = _take_indicators(columns, options)
    context = _take_context(columns, options)
    labels = _take_labels(columns, options, extra[TARGET_COLUMN])
    for name in options.ignore:
        require_column(name, names, "columns to ignore")
        columns.pop(name, None)
    if not columns:
        raise FormatError("The table has no column that could be a variable.")
    x, variables = as_matrix(columns), tuple(columns)
    x.flags.writeable = False  # nobody else holds it: a data set need not copy it
    if side is not None and regime is not None:
        clamps = _clamps(labels, variables)
        return with_side_information(x, clamps, as_numbers(REGIME_COLUMN, regime), variables, side)
    labels, control, combined = read_labels(labels, set(variables), options.control)
    depth = np.nansum(x, axis=1)
    context = with_depth(context, depth, options)
    keep, dropped = columns_to_keep(x, variables, options)
    kept = [variables[column] for column in keep]
    labels = labels if not flags else _conditions(flags, options)
    unit, corrected = units([(0, x)], labels, depth, replace(options, control=control))
    filled = without_missing(kept_values(x, keep, unit, options), kept, labels, options.missing)
    notes += corrected
    labels = [labels[row] for row in filled.rows]
    if flags:
        data = _by_condition(filled.x, kept, labels, options)
        data = filled.marked(data, *notes, *dropped)
        return beside_variables(data, options, context, filled.rows)
    data = InterventionalData.from_targets(filled.x, labels, variable_names=kept, control=control)
    data = filled.marked(data, *notes, *combined, *dropped, *control_notes(labels, control))
    return beside_variables(data, options, context, filled.rows)


def _clamps(labels: Sequence[str], variables: Sequence[str]) -> np.ndarray:
    flags_of = {n: np.isin(variables, split_targets(n)) for n in dict.fromkeys(labels)}
    clamps = np.array([flags_of[label] for label in labels], dtype=bool)
    return clamps.reshape(len(labels), len(variables))


def _header(path: Path, cells: Sequence[str], side: dict[str, Any] | None) -> list[str]:
    """The names of the columns, from the first line or from what ucad wrote beside the table."""
    if side is None:
        names = [name.strip() for name in cells]
        check_named(path, names)
        return names
    return _columns_of(side, path, list(cells)) if "variable_names" in side else list(cells)


def _no_variables(options: ReadOptions, side: dict[str, Any] | None) -> set[str]:
    """The columns that are read as they are written."""
    named = {options.target or TARGET_COLUMN, *options.indicators, *options.ignore, *INDEX_NAMES}
    stored = {} if side is None else side.get("columns")
    ours = {TARGET_COLUMN, REGIME_COLUMN, *(stored if isinstance(stored, dict) else {}).values()}
    return named | set(side_columns(options)) | (ours if side is not None else set())


def _columns_of(side: dict[str, Any], path: Path, header: list[str]) -> list[str]:
    """The exact names of the columns; a text table may hide a mark or a space of them."""
    try:
        expected = [*side["variable_names"], *dict(side["columns"]).values()]
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"'{_side_path(path)}' is damaged: {error!r}.") from error
    if [str(name).strip("\ufeff") for name in expected] != [
        name.strip("\ufeff") for name in header
    ]:
        raise FormatError(
            f"'{_side_path(path)}' describes other columns than '{path}' has. Remove it to have "
            f"the table read by itself."
        )
    return expected


def _take_context(columns: dict[str, Any], options: ReadOptions) -> dict[str, Any]:
    """Takes the columns of the context out of the table."""
    names = [name for name in side_columns(options) if name != DEPTH or name in columns]
    for name in names:
        require_column(name, list(columns), "context")
    return {name: columns.pop(name) for name in names}


def _take_indicators(columns: dict[str, Any], options: ReadOptions) -> dict[str, np.ndarray]:
    """Takes the indicator columns out of the table."""
    for name in options.indicators:
        require_column(name, list(columns), "conditions")
    return {name: as_numbers(name, columns.pop(name)) != 0 for name in options.indicators}


def _conditions(flags: dict[str, np.ndarray], options: ReadOptions) -> list[str]:
    """The conditions of every sample that are not observational, as one label."""
    clamping = [name for name in flags if options.indicators[name]]
    n_samples = len(next(iter(flags.values())))
    return [join_targets(n for n in clamping if flags[n][row]) for row in range(n_samples)]


def _by_condition(
    x: VariableSamples, variables: list[str], labels: list[str], options: ReadOptions
) -> InterventionalData:
    """One regime for every combination of conditions that is not observational."""
    counts: Counter[str] = Counter()
    for label, count in Counter(labels).items():
        for target in _targets_of(label, options):
            counts[target] += count
    check_targets(counts, variables)
    names = ["observational", *dict.fromkeys(filter(None, labels))]
    number = {name: at for at, name in enumerate(names)}
    regime = np.array([number[label or "observational"] for label in labels])
    clamps = np.array([np.isin(variables, _targets_of(name, options)) for name in names])
    return InterventionalData(
        x, clamps[regime], regime, tuple(variables), regime_names=tuple(names)
    )


def _targets_of(conditions: str, options: ReadOptions) -> list[str]:
    clamped = [options.indicators.get(name, "") for name in split_targets(conditions)]
    return split_targets(";".join(clamped))


def _take_labels(
    columns: dict[str, Any], options: ReadOptions, default: str = TARGET_COLUMN
) -> list[str]:
    """Takes the column or the indicator columns that name the targets out of the table."""
    if not columns:
        raise FormatError("The table has no column that could be a variable.")
    names, n_samples = list(columns), len(next(iter(columns.values())))
    target = options.target
    if target is None:
        if default not in columns:
            return [""] * n_samples
        target = default
    require_column(target, names, "targets")
    return [label_of(value) for value in columns.pop(target)]


def _labels(data: InterventionalData) -> list[str]:
    by_regime = [
        join_targets(data.variable_names[j] for j in np.flatnonzero(row)) for row in data.targets
    ]
    return [by_regime[regime] for regime in data.regime]


def _has_breaks(data: InterventionalData) -> bool:
    return any("\r" in name or "\n" in name for name in data.variable_names)


def _extra_columns(variables: Sequence[str]) -> dict[str, str]:
    """Names for the columns of targets and regimes that no variable has."""
    names = {}
    for name in (TARGET_COLUMN, REGIME_COLUMN):
        free = name
        while free in variables:
            free += "_"
        names[name] = free
    return names


def _side_path(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _side_of(path: Path) -> dict[str, Any] | None:
    """What ucad wrote beside a table; another's file of that name says nothing to us."""
    if not _side_path(path).exists():
        return None
    side: dict[str, Any] = read_json(_side_path(path))
    return side if is_side_information(side) else None


def _check_side_free(path: Path) -> None:
    """Refuses to write over a file beside the table that is not ours."""
    try:
        theirs = _side_path(path).exists() and _side_of(path) is None
    except FormatError:
        theirs = True
    if theirs:
        raise InvalidInputError(
            f"'{_side_path(path)}' exists and is not ucad's: it is not overwritten. Choose another "
            f"name for the table, or move that file away."
        )


def _pyarrow_parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingDependencyError("pyarrow", "parquet", "Reading and writing parquet") from None
    return parquet
