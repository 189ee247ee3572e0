"""`ucad supernodes`: groups in an attribution graph of circuit-tracer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ucad.cli.options import Count, Seed
from ucad.errors import InvalidInputError

__all__ = ["supernodes"]


def supernodes(
    graph: Path,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    similarity: float = 0.5,
    nodes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    max_nodes: Count = 300,
    seed: Seed = 0,
    force: bool = False,
) -> None:
    """Group the features of an attribution graph that have the same causes and effects.

    The graph is a JSON file of circuit-tracer or Neuronpedia. The groups are written into a copy
    of it as supernodes, which its viewers show; groups that it has already are kept.

    Parameters
    ----------
    graph
        The JSON file.
    output
        The JSON file to write.
    similarity
        The mean cosine of causes and effects from which on nodes are grouped.
    nodes
        Node ids to group; by default those that are pinned, or all features.
    max_nodes
        The most influential nodes are taken if there are more.
    seed
        Random seed of the random groups that the groups are compared with.
    force
        Replace the output if it exists.
    """
    from ucad.networks.attribution_graphs import read_attribution_graph, write_supernodes
    from ucad.networks.supernodes import group_nodes

    if output.exists() and not force:
        raise InvalidInputError(f"'{output}' exists. Use --force to replace it.")
    read = read_attribution_graph(graph)
    found = group_nodes(read, min_similarity=similarity, only=nodes, max_nodes=max_nodes, seed=seed)
    write_supernodes(read.with_supernodes([*read.supernodes, *found.groups]), output)
    print(f"{found}\nWritten to {output}")
