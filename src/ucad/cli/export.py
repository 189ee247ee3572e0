"""`ucad export`: a fitted model for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

__all__ = ["export"]


def export(
    run: Path,
    /,
    *,
    to: Literal["graphml", "csv", "json", "dowhy"],
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    force: bool = False,
) -> None:
    """Write the graph or the whole model of a run for another tool.

    Parameters
    ----------
    run
        The run folder.
    to
        graphml: variables and factors, for Cytoscape, Gephi, yEd or networkx. csv: a table of
        edges with their strength and support. json: edges, weights, status and claims. dowhy: a
        folder with the graph, samples with the factors as columns, and a script that loads them.
    output
        What to write; beside the run folder, with its name, if not given.
    force
        Replace what exists.
    """
    from ucad.errors import InvalidInputError
    from ucad.exports import ENDINGS, is_dowhy_folder
    from ucad.exports import export as write
    from ucad.files import resolved
    from ucad.runs import OURS, load_run

    loaded = load_run(run)
    name = run.resolve().name
    default = run.resolve().with_name(f"{name}{ENDINGS[to]}" if ENDINGS[to] else f"{name}-dowhy")
    path = default if output is None else output
    if path.exists() and not force:
        raise InvalidInputError(f"'{path}' exists. Choose another name with -o, or add --force.")
    is_ours = is_dowhy_folder(path) if to == "dowhy" else path.is_file()
    if path.exists() and not is_ours:
        raise InvalidInputError(f"'{path}' holds something else, and is kept even with --force.")
    if resolved(path).parent == resolved(run) and path.name in OURS:
        raise InvalidInputError(f"'{path}' is a part of the run itself: it is kept.")
    print(f"Written: {write(loaded, path, to)}")
