"""The folder that DCDI and DCD-FG use: `data_interv1.npy`, `intervention1.csv`, `regime1.csv`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ucad.data.checks import check_matrix
from ucad.data.dataset import InterventionalData
from ucad.data.formats.options import (
    ReadOptions,
    columns_to_keep,
    parsed_as,
    side_information,
    with_side_information,
)
from ucad.data.missing import without_missing
from ucad.errors import FormatError
from ucad.files import check_regular, read_json, read_text, replacing, write_text

__all__ = ["is_dcdi", "read_dcdi", "write_dcdi"]

DATA, TARGETS, REGIMES, SIDE = "data_interv1.npy", "intervention1.csv", "regime1.csv", "ucad.json"


def is_dcdi(path: Path) -> bool:
    """Whether a folder has any of DCDI's files."""
    return any((path / name).exists() for name in (DATA, TARGETS, REGIMES))


def read_dcdi(path: Path, options: ReadOptions) -> InterventionalData:
    """Reads the folder; a line of `intervention1.csv` holds the clamped columns of a sample."""
    with parsed_as(path, f"a folder with {DATA}, {TARGETS} and {REGIMES}"):
        for name in (DATA, TARGETS, REGIMES):
            if not (path / name).exists():
                raise FileNotFoundError(f"it has no {name}")
            check_regular(path / name)
        x = np.load(path / DATA, allow_pickle=False)
        lines = read_text(path / TARGETS).split("\n")
        regime = np.loadtxt(path / REGIMES, dtype=np.int64, ndmin=1)
    check_matrix(x, may_be_empty=(path / SIDE).exists())
    clamps = _clamps(path / TARGETS, lines[: len(x)], x.shape)
    if len(lines[: len(x)]) != len(x) or len(regime) != len(x):
        raise FormatError(
            f"'{path}' is inconsistent: {len(x)} samples, {len(lines[: len(x)])} lines of targets, "
            f"{len(regime)} regimes."
        )
    names = [f"X{column + 1}" for column in range(x.shape[1])]
    if (path / SIDE).exists():
        return with_side_information(x, clamps, regime, names, read_json(path / SIDE))
    keep, notes = columns_to_keep(x, names, options)
    kept = tuple(names[j] for j in keep)
    values = x[:, keep].astype(np.float64)
    filled = without_missing(values, kept, regime.tolist(), options.missing)
    rows = filled.rows
    data = InterventionalData(filled.x, clamps[np.ix_(rows, keep)], regime[rows], kept)
    return filled.marked(data, *notes)


def write_dcdi(data: InterventionalData, path: Path) -> None:
    """Writes the three files, and before them `ucad.json` with the names."""
    write_text(path / SIDE, json.dumps(side_information(data)))
    with replacing(path / DATA) as beside, beside.open("wb") as file:
        np.save(file, data.x)
    by_regime = [",".join(map(str, np.flatnonzero(row))) for row in data.targets]
    write_text(path / TARGETS, "".join(by_regime[regime] + "\n" for regime in data.regime))
    write_text(path / REGIMES, "".join(f"{regime}\n" for regime in data.regime))


def _clamps(path: Path, lines: list[str], shape: tuple[int, int]) -> np.ndarray:
    clamps = np.zeros(shape, dtype=bool)
    for row, line in enumerate(lines):
        for column in filter(None, (part.strip() for part in line.split(","))):
            if not column.isdecimal() or int(column[:9]) >= shape[1]:
                raise FormatError(
                    f"Line {row + 1} of '{path}' must name columns below {shape[1]}. "
                    f"Got '{column[:40]}' instead."
                )
            clamps[row, int(column)] = True
    return clamps
