"""csv and parquet: one column a variable, and one that names what was clamped."""

from __future__ import annotations

import csv
import io
import json
import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ucad._types import VariableSamples
from ucad.data.dataset import InterventionalData
from ucad.data.formats.dialect import rows_of
from ucad.data.formats.options import (
    REGIME_COLUMN,
    TARGET_COLUMN,
    ReadOptions,
    columns_to_keep,
    is_side_information,
    parsed_as,
    require_column,
    side_information,
    with_side_information,
)
from ucad.data.targets import check_targets, join_targets, label_of, split_targets
from ucad.errors import (
    FormatError,
    InvalidInputError,
    MissingDependencyError,
    all_at_once,
)
from ucad.files import parse_json, read_json, read_text, replacing, write_text

__all__ = ["from_columns", "read_csv", "read_parquet", "write_csv", "write_parquet"]

_METADATA = b"ucad"
_MISSING = {"", "na", "nan", "n/a", "#n/a", "null", "none", "."}
"""How tables write a missing value, in lower case."""
_TRUTH = {"true": "1", "false": "0"}
_INDEX_NAMES = ("", "Unnamed: 0", "__index_level_0__")
"""The names under which pandas writes the numbers of the rows; the first is R's, too."""
_SHOWN = 5

_logger = logging.getLogger(__name__)


def read_csv(path: Path, options: ReadOptions) -> InterventionalData:
    """Reads a comma (`.csv`) or tab (`.tsv`, `.txt`) separated table with a header line."""
    side = _side_of(path)
    with parsed_as(path, "a text table"):
        rows = rows_of(read_text(path), path, guess=side is None)
    if len(rows) < 2:
        raise FormatError(f"'{path}' has no samples: it needs a header line and a line per sample.")
    header = rows[0] if side is not None else [name.strip() for name in rows[0]]
    with all_at_once() as check:
        check(_check_widths, path, rows)
        check(_check_header, path, header)
        check(_check_names, path, header if side is None else ())
    if side is not None and "variable_names" in side:
        header = _columns_of(side, path, header)
    columns = dict(zip(header, zip(*rows[1:], strict=True), strict=True))
    return from_columns(columns, options, side)


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
        _check_header(path, parquet.read_schema(path).names)
        table = parquet.read_table(path)
        columns = {name: table.column(name).to_numpy() for name in table.column_names}
        stored = (table.schema.metadata or {}).get(_METADATA)
        side = None if stored is None else dict(parse_json(stored))
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
    if side is None:
        _drop_index(columns)
    flags = _take_indicators(columns, options)
    labels = _take_labels(columns, options, extra[TARGET_COLUMN])
    for name in options.ignore:
        require_column(name, names, "columns to ignore")
        columns.pop(name, None)
    if not columns:
        raise FormatError("The table has no column that could be a variable.")
    x, variables = _matrix(columns), tuple(columns)
    if side is not None and regime is not None:
        clamps = np.array([np.isin(variables, split_targets(label)) for label in labels])
        clamps = clamps.reshape(len(labels), len(variables))
        return with_side_information(x, clamps, _numbers(REGIME_COLUMN, regime), variables, side)
    keep = columns_to_keep(x, variables, options)
    kept = [variables[column] for column in keep]
    if flags:
        return _by_condition(x[:, keep], kept, flags, options)
    return InterventionalData.from_targets(
        x[:, keep], labels, variable_names=kept, control=options.control
    )


def _check_widths(path: Path, rows: list[list[str]]) -> None:
    """Refuses lines with more or fewer fields than the header."""
    wrong = [(at, len(row)) for at, row in enumerate(rows, start=1) if len(row) != len(rows[0])]
    if not wrong:
        return
    listed = "; ".join(f"Line {at} of '{path}' has {width} fields" for at, width in wrong[:_SHOWN])
    more = f"; and {len(wrong) - _SHOWN} more such lines" if len(wrong) > _SHOWN else ""
    above = {len(row) for row in rows[1:]} == {wrong[0][1]} and wrong[0][1] > len(rows[0])
    advice = " Remove what stands above the line with the names." if above else ""
    raise FormatError(f"{listed}{more}, the header {len(rows[0])}.{advice}")


def _check_header(path: Path, header: list[str]) -> None:
    """Refuses columns of the same name, and columns without a name, except the first."""
    doubled = sorted(name for name, count in Counter(header).items() if count > 1 and name)
    if doubled:
        raise FormatError(
            f"'{path}' has two columns of the same name: {', '.join(map(repr, doubled[:_SHOWN]))}."
        )
    unnamed = [at for at, name in enumerate(header, start=1) if name == "" and at > 1]
    if unnamed:
        raise FormatError(f"Column {unnamed[0]} of '{path}' has no name in the header.")


def _check_names(path: Path, header: Sequence[str]) -> None:
    """Refuses a first line of measurements, which would be lost; whole numbers can be names."""
    try:
        has_fraction = any(not float(name).is_integer() for name in header)
    except (ValueError, OverflowError):
        return
    if has_fraction:
        raise FormatError(
            f"The first line of '{path}' must name the variables. It holds only numbers: "
            f"{', '.join(header[:_SHOWN])}. Write a line with names above it."
        )


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


def _drop_index(columns: dict[str, Any]) -> None:
    """Leaves out a column with the numbers or names of the rows, as pandas and R write it."""
    for name in [name for name in _INDEX_NAMES if name in columns]:
        del columns[name]
        shown = f"'{name}'" if name else "without a name"
        _logger.warning("The column %s is taken for the index of the rows and left out.", shown)


def _matrix(columns: dict[str, Any]) -> VariableSamples:
    """The columns as numbers; every column that holds something else is named."""
    parsed: list[np.ndarray] = []
    wrong: list[str] = []
    for name, values in columns.items():
        try:
            parsed.append(_numbers(name, values))
        except InvalidInputError as error:
            wrong.append(str(error))
    if wrong:
        more = f" So do {len(wrong) - _SHOWN} more columns." if len(wrong) > _SHOWN else ""
        raise InvalidInputError(
            f"{' '.join(wrong[:_SHOWN])}{more} What is not a variable can be named as the target "
            f"column, or ignored."
        )
    return np.stack(parsed, axis=1)


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
    clamped = {name: options.indicators[name] for name in clamping}
    check_targets(
        {target: int(flags[n].sum()) for n, t in clamped.items() for target in split_targets(t)},
        variables,
    )
    rows = range(len(x))
    labels = [join_targets(name for name in clamping if flags[name][row]) for row in rows]
    names = ["observational", *dict.fromkeys(filter(None, labels))]
    regime = np.array([names.index(label or "observational") for label in labels])
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


def _numbers(name: str, values: Sequence[Any] | np.ndarray) -> Float[np.ndarray, " samples"]:
    """The values of a column as float64, missing ones as NaN.

    Raises:
        InvalidInputError: with the first value that is no real number.
    """
    try:
        array = np.asarray(values)
        if array.ndim == 1 and array.dtype.kind in "fiubUO":
            return array.astype(np.float64)
    except (ValueError, TypeError, OverflowError):
        pass
    return np.array([_number(name, row, value) for row, value in enumerate(values)])


def _number(name: str, row: int, value: Any) -> float:
    text = "nan" if value is None else str(value).strip().lower()
    try:
        if not isinstance(value, complex | np.ndarray | list | dict):
            return float("nan" if text in _MISSING else _TRUTH.get(text, text))
    except (ValueError, OverflowError):
        pass
    raise InvalidInputError(f"Column '{name}' must hold numbers. Row {row} is '{str(value)[:60]}'.")


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
