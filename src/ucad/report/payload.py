"""What the page's script gets: the graph at both levels, cards of factors, effects; as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ucad.consensus.support import Graph, Support
from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.report.effects import clamp_effects
from ucad.report.layout import Place, high_level_layout, low_level_layout
from ucad.report.strengths import EdgeStrengths
from ucad.report.support_panel import weak_edges
from ucad.report.words import factor_card
from ucad.scm import FactorSCM

__all__ = ["MANY_VARIABLES", "embedded", "page_data"]

MANY_VARIABLES = 40
"""Variables above which the graph begins with the factors alone: more cannot be read at once in a
frame of 570 pixels' height."""


def page_data(
    scm: FactorSCM, data: InterventionalData, strengths: EdgeStrengths, support: Support | None
) -> dict[str, Any]:
    """All that the script shows, with nothing left to compute."""
    graph = scm.graph
    used = np.asarray(graph.Q.any(axis=1) | graph.R.any(axis=1))
    return {
        "factors": [factor_card(graph, name, strengths) for name in graph.factor_names],
        "low": _low_level(scm, strengths, support),
        "high": _high_level(scm, support),
        "unused": [graph.variable_names[i] for i in np.flatnonzero(~used)],
        "many": graph.n_variables > MANY_VARIABLES,
        "effects": [effect.to_json() for effect in clamp_effects(scm, data, strengths)],
    }


def embedded(payload: Mapping[str, Any]) -> str:
    r"""JSON that cannot end the script element it stands in.

    >>> print(embedded({"name": "</script>"}))
    {"name":"\u003c/script\u003e"}
    """
    try:
        text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as error:
        raise InvalidInputError(
            "There is nothing finite to report: the data, or a weight of the model, are too large."
        ) from error
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _low_level(scm: FactorSCM, strengths: EdgeStrengths, support: Support | None) -> dict[str, Any]:
    """Nodes by number: variables first, then factors."""
    graph, places = scm.graph, low_level_layout(scm.graph)
    n = graph.n_variables
    edges, names = [], graph.variable_names + graph.factor_names
    weak = weak_edges(support, Graph.Q) | weak_edges(support, Graph.R)
    for matrix, strength, mixed, inward in (
        (graph.Q, strengths.into, strengths.into_mixed, True),
        (graph.R, strengths.out_of, strengths.out_of_mixed, False),
    ):
        for i, k in zip(*(axis.tolist() for axis in matrix.nonzero()), strict=True):
            ends = [i, n + k] if inward else [n + k, i]
            is_weak = int((names[ends[0]], names[ends[1]]) in weak)
            edges.append([*ends, float(f"{strength[i, k]:.3g}"), int(mixed[i, k]), is_weak])
    return {"nodes": _nodes(names, n, places), "edges": edges}


def _high_level(scm: FactorSCM, support: Support | None) -> dict[str, Any]:
    graph, weak = scm.graph, weak_edges(support, Graph.B)
    names = graph.factor_names
    edges = [
        [int(a), int(b), 0, 0, int((names[a], names[b]) in weak)]
        for a, b in zip(*graph.factor_adjacency.nonzero(), strict=True)
    ]
    return {"nodes": _nodes(graph.factor_names, 0, high_level_layout(graph)), "edges": edges}


def _nodes(names: Sequence[str], first_factor: int, places: Mapping[str, Place]) -> list[list[Any]]:
    """For every node that is drawn: number, name, whether it is a factor, place."""
    return [
        [number, name, int(number >= first_factor), *places[name]]
        for number, name in enumerate(names)
        if name in places
    ]
