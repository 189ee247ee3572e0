"""npz: the arrays of a data set under their own names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ucad.data.checks import as_layers, check_matrix, check_names, check_shapes
from ucad.data.dataset import InterventionalData
from ucad.data.formats.options import (
    ReadOptions,
    beside_variables,
    columns_to_keep,
    parsed_as,
    require_column,
    side_columns,
    side_information,
    with_side_information,
)
from ucad.data.missing import without_missing
from ucad.data.targets import label_of
from ucad.errors import FormatError
from ucad.files import parse_json, replacing

__all__ = ["read_npz", "write_npz"]


def read_npz(path: Path, options: ReadOptions) -> InterventionalData:
    """Reads `x` and, where they are there, `is_intervened`, `variable_names` and `layer_of`.

    A context is an array of its own name, one entry per sample.
    """
    arrays = _arrays(path)
    x, clamps, layers = arrays["x"], arrays.get("is_intervened"), as_layers(arrays.get("layer_of"))
    check_matrix(x, may_be_empty="side" in arrays)
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    names = [label_of(name) for name in arrays.get("variable_names", _numbered(x)).reshape(-1)]
    check_names(names, x.shape[1])
    if "side" in arrays:
        with parsed_as(path, "a data set of ucad"):
            parts = (arrays["is_intervened"], arrays["regime"])
            side = parse_json(str(arrays["side"]))
        return with_side_information(x, *parts, names, side)
    check_shapes(x, x if clamps is None else clamps, x[:, 0], layers)
    keep, notes = columns_to_keep(x, names, options)
    kept = [names[j] for j in keep]
    regimes = [b""] * len(x) if clamps is None else [row.tobytes() for row in clamps]
    filled = without_missing(x[:, keep], kept, regimes, options.missing)
    data = InterventionalData.from_arrays(
        filled.x,
        None if clamps is None else clamps[np.ix_(filled.rows, keep)],
        variable_names=kept,
        layer_of=None if layers is None else layers[keep],
    )
    for name in side_columns(options):
        require_column(name, list(arrays), "context")
    known = {name: arrays[name] for name in side_columns(options)}
    return beside_variables(filled.marked(data, *notes), options, known, filled.rows)


def write_npz(data: InterventionalData, path: Path) -> None:
    """Writes the arrays, compressed."""
    with replacing(path) as beside, beside.open("wb") as file:
        np.savez_compressed(
            file,
            x=data.x,
            is_intervened=data.is_intervened,
            regime=data.regime,
            variable_names=np.array(data.variable_names),
            side=np.array(json.dumps(side_information(data))),
        )


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = dict(archive)
    except Exception as error:
        # numpy's own message advises to unpickle the file, which would run code from it
        raise FormatError(
            f"'{path}' is not an npz file of plain arrays; write it with numpy.savez."
        ) from error
    if "x" not in arrays or not all(isinstance(part, np.ndarray) for part in arrays.values()):
        raise FormatError(f"'{path}' must hold an array 'x'. It holds {', '.join(arrays)}.")
    return arrays


def _numbered(x: np.ndarray) -> np.ndarray:
    return np.array([f"X{number}" for number in range(1, x.shape[1] + 1)])
