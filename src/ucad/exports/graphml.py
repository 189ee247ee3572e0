"""GraphML, for Cytoscape, Gephi, yEd and networkx: variables and factors with the edges of Q, R."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx

from ucad.consensus.support import Graph
from ucad.exports.edges import edges_of
from ucad.files import replacing
from ucad.runs import Run

__all__ = ["as_networkx", "write_graphml"]


def as_networkx(run: Run) -> nx.DiGraph[Any]:
    """Variables and factors by name; nodes have a `kind`, edges a `graph` and a `strength`."""
    graph = run.scm.graph.to_networkx()
    for edge in edges_of(run):
        if edge.graph in (Graph.Q, Graph.R):
            known: dict[str, Any] = {"graph": edge.graph.value, "is_mixed": edge.is_mixed}
            numbers = {"strength": edge.strength, "support": edge.support}
            known |= {name: value for name, value in numbers.items() if value is not None}
            graph.edges[edge.cause, edge.effect].update(known)
    return graph


def write_graphml(run: Run, path: Path) -> None:
    """Writes one file in one step."""
    with replacing(path) as beside:
        graph = as_networkx(run)
        nx.write_graphml(nx.relabel_nodes(graph, {name: _plain(name) for name in graph}), beside)


def _plain(name: str) -> str:
    """A name without what XML cannot hold: control characters become a replacement character."""
    return "".join(c if c >= " " and c not in "\ufffe\uffff" else "\ufffd" for c in name)
