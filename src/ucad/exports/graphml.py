"""GraphML, for Cytoscape, Gephi, yEd and networkx: variables and factors with the edges of Q, R."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import networkx as nx

from ucad.consensus.support import Graph
from ucad.data.checks import some
from ucad.exports.edges import edges_of
from ucad.files import replacing
from ucad.runs import Run

__all__ = ["as_networkx", "write_graphml"]

_logger = logging.getLogger(__name__)


def as_networkx(run: Run) -> nx.DiGraph:
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
    """Writes one file in one step; says which names XML cannot hold as they are."""
    graph = as_networkx(run)
    names = _plain_names(list(graph))
    changed = [f"{name!r} is {plain!r}" for name, plain in names.items() if name != plain]
    if changed:
        _logger.warning(
            "%d name(s) hold characters that GraphML cannot: %s.", len(changed), some(changed)
        )
    with replacing(path) as beside:
        nx.write_graphml(nx.relabel_nodes(graph, names), beside)


def _plain_names(names: Sequence[str]) -> dict[str, str]:
    """Names without what XML cannot hold, still all different."""
    found = {name: name for name in names if _plain(name) == name}
    for name in names:
        if name not in found:
            candidates = (f"{_plain(name)} {n}" if n > 1 else _plain(name) for n in count(1))
            found[name] = next(one for one in candidates if one not in found.values())
    return {name: found[name] for name in names}


def _plain(name: str) -> str:
    """Control characters become a replacement character."""
    return "".join(c if c >= " " and c not in "\ufffe\uffff" else "\ufffd" for c in name)
