"""The edges of a fitted model as rows, with how strongly each acts and how often it comes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ucad.consensus.support import Graph
from ucad.report.strengths import edge_strengths
from ucad.runs import Run
from ucad.scm import at_average_context

__all__ = ["Edge", "edges_of"]


class Edge(NamedTuple):
    """One edge of a model.

    Attributes:
        cause: its name.
        effect: its name.
        graph: Q (variable → factor), R (factor → variable), A (variables) or B (factors).
        strength: by how many standard deviations the effect moves when the cause moves by one,
            with its sign; None for A and B, which go through others, and without any samples.
        is_mixed: the sign depends on the state.
        support: the share of the fits on halves of the samples that have it; None without them.
    """

    cause: str
    effect: str
    graph: Graph
    strength: float | None = None
    is_mixed: bool = False
    support: float | None = None


def edges_of(run: Run) -> list[Edge]:
    """All edges: those of Q and R, then those between variables (A) and between factors (B)."""
    support = None if run.consensus is None else run.consensus.support
    known = {} if support is None else {e[:3]: e.support for g in Graph for e in support.of(g)}
    return [
        edge._replace(support=known.get((edge.graph, edge.cause, edge.effect)))
        for edge in (*_direct(run), *_collapsed(run))
    ]


def _direct(run: Run) -> Iterator[Edge]:
    graph = run.scm.graph
    found = None
    if run.sample is not None:
        found = edge_strengths(run.scm, at_average_context(run.scm, run.sample))
    for which, matrix in ((Graph.Q, graph.Q), (Graph.R, graph.R)):
        for i, k in np.argwhere(matrix).tolist():
            ends = (graph.variable_names[i], graph.factor_names[k])
            cause, effect = ends if which is Graph.Q else ends[::-1]
            if found is None:
                yield Edge(cause, effect, which)
                continue
            inward = which is Graph.Q
            strength = (found.into if inward else found.out_of)[i, k]
            mixed = (found.into_mixed if inward else found.out_of_mixed)[i, k]
            yield Edge(cause, effect, which, float(f"{strength:.6g}"), bool(mixed))


def _collapsed(run: Run) -> Iterator[Edge]:
    graph = run.scm.graph
    levels = (
        (Graph.A, graph.variable_adjacency, graph.variable_names),
        (Graph.B, graph.factor_adjacency, graph.factor_names),
    )
    for which, adjacency, names in levels:
        for cause, effect in np.argwhere(adjacency).tolist():
            yield Edge(names[cause], names[effect], which)
