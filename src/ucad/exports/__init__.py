"""A fitted model for other tools: one file per format, and one line in `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ucad.exports.dowhy import is_dowhy_folder, write_dowhy
from ucad.exports.edges import Edge, edges_of
from ucad.exports.graphml import write_graphml
from ucad.exports.tables import write_csv, write_json
from ucad.parameters import one_of
from ucad.runs import Run

__all__ = ["ENDINGS", "FORMATS", "Edge", "edges_of", "export", "is_dowhy_folder"]

FORMATS: dict[str, Callable[[Run, Path], None]] = {
    "graphml": write_graphml,
    "csv": write_csv,
    "json": write_json,
    "dowhy": write_dowhy,
}
"""By name: what writes a run to a path."""

ENDINGS = {"graphml": ".graphml", "csv": ".csv", "json": ".json", "dowhy": ""}
"""How the names of what is written end; dowhy's is a folder."""


def export(run: Run, path: str | Path, to: str) -> Path:
    """Writes a run in another format and returns where it is.

    Args:
        run: what `ucad.runs.load_run` gives.
        path: the file, or for `dowhy` the folder, to write.
        to: `graphml`, `csv` (a table of edges), `json` (the whole model) or `dowhy`.
    """
    FORMATS[one_of(to, "to", list(FORMATS))](run, Path(path))
    return Path(path)
