"""The folder that DCDI and DCD-FG use: `data_interv1.npy`, `intervention1.csv`, `regime1.csv`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ucad.data.dataset import InterventionalData
from ucad.data.formats.options import (
    ReadOptions,
    columns_to_keep,
    read_json,
    side_information,
    with_side_information,
    write_beside,
)
from ucad.errors import FormatError

__all__ = ["read_dcdi", "write_dcdi"]

DATA, TARGETS, REGIMES, SIDE = "data_interv1.npy", "intervention1.csv", "regime1.csv", "ucad.json"


def read_dcdi(path: Path, options: ReadOptions) -> InterventionalData:
    """Reads the folder; a line of `intervention1.csv` holds the clamped columns of a sample."""
    try:
        x = np.load(path / DATA, allow_pickle=False)
        lines = (path / TARGETS).read_text(encoding="utf-8").split("\n")
        regime = np.loadtxt(path / REGIMES, dtype=np.int64, ndmin=1)
    except (OSError, ValueError) as error:
        raise FormatError(
            f"'{path}' is not a folder with {DATA}, {TARGETS} and {REGIMES}: {error}."
        ) from error
    lines = lines[: len(x)]
    clamps = np.zeros(x.shape, dtype=bool)
    for row, line in enumerate(lines):
        for column in filter(None, (part.strip() for part in line.split(","))):
            if not column.isdigit() or int(column) >= x.shape[1]:
                raise FormatError(
                    f"Line {row + 1} of '{path / TARGETS}' must name columns below {x.shape[1]}. "
                    f"Got '{column}' instead."
                )
            clamps[row, int(column)] = True
    if len(lines) != len(x) or len(regime) != len(x):
        raise FormatError(
            f"'{path}' is inconsistent: {len(x)} samples, {len(lines)} lines of targets, "
            f"{len(regime)} regimes."
        )
    if (path / SIDE).exists():
        side = read_json(path / SIDE)
        return with_side_information(x, clamps, regime, side["variable_names"], side)
    keep = columns_to_keep(x, options)
    names = tuple(f"X{column + 1}" for column in keep)
    return InterventionalData(x[:, keep].astype(np.float64), clamps[:, keep], regime, names)


def write_dcdi(data: InterventionalData, path: Path) -> None:
    """Writes the three files, and `ucad.json` for the names."""
    path.mkdir(parents=True, exist_ok=True)
    beside = path / (DATA + ".part")
    with beside.open("wb") as file:
        np.save(file, data.x)
    beside.replace(path / DATA)
    by_regime = [",".join(map(str, np.flatnonzero(row))) for row in data.targets]
    targets = "".join(by_regime[regime] + "\n" for regime in data.regime)
    write_beside(path / TARGETS, targets)
    write_beside(path / REGIMES, "".join(f"{regime}\n" for regime in data.regime))
    side = side_information(data) | {"variable_names": data.variable_names}
    write_beside(path / SIDE, json.dumps(side))
