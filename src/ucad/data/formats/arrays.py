"""npz: the arrays of a data set under their own names."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np

from ucad.data.checks import check_matrix
from ucad.data.dataset import InterventionalData
from ucad.data.formats.options import (
    ReadOptions,
    columns_to_keep,
    side_information,
    with_side_information,
)
from ucad.errors import FormatError

__all__ = ["read_npz", "write_npz"]


def read_npz(path: Path, options: ReadOptions) -> InterventionalData:
    """Reads `x` and, where they are there, `is_intervened`, `variable_names` and `layer_of`."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = dict(archive)
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        # numpy's own message advises to unpickle the file, which would run code from it
        raise FormatError(
            f"'{path}' is not an npz file of plain arrays; write it with numpy.savez."
        ) from error
    if "x" not in arrays:
        raise FormatError(f"'{path}' must hold an array 'x'. It holds {', '.join(arrays)}.")
    check_matrix(arrays["x"])
    x, clamps = arrays["x"], arrays.get("is_intervened")
    names = [str(name) for name in arrays["variable_names"]] if "variable_names" in arrays else None
    if "side" in arrays and clamps is not None and names is not None:
        side = json.loads(str(arrays["side"]))
        return with_side_information(x, clamps, arrays["regime"], names, side)
    keep = columns_to_keep(x, options)
    layers = arrays.get("layer_of")
    return InterventionalData.from_arrays(
        x[:, keep],
        None if clamps is None else clamps[:, keep],
        variable_names=[f"X{j + 1}" if names is None else names[j] for j in keep],
        layer_of=None if layers is None else layers[keep],
    )


def write_npz(data: InterventionalData, path: Path) -> None:
    """Writes the arrays, compressed, beside and moved into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    with beside.open("wb") as file:
        np.savez_compressed(
            file,
            x=data.x,
            is_intervened=data.is_intervened,
            regime=data.regime,
            variable_names=np.array(data.variable_names),
            side=np.array(json.dumps(side_information(data))),
        )
    beside.replace(path)
