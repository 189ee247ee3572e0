"""Where the nodes of a graph are drawn: causes to the left, few crossings."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.graph import FactorGraph

__all__ = ["Place", "high_level_layout", "low_level_layout"]

SWEEPS = 6
"""Passes that order the nodes of neighbouring columns by their mean place: crossings hardly change
after three or four there and back."""

SUB_COLUMN = 0.45
"""The distance of the sub-columns of a crowded column, in columns."""


class Place(NamedTuple):
    """A position: columns to the right, rows down, both centred at 0."""

    x: float
    y: float


def low_level_layout(graph: FactorGraph) -> dict[str, Place]:
    """Places for all factors, and for all variables that have an edge.

    Columns alternate between variables and factors, by topological level; a variable without
    parents stands right before the first factor it feeds. The order within a column comes from
    the mean place of the neighbours, and crowded columns are broken into several.
    """
    n = graph.n_variables
    feeds = np.where(graph.Q, graph.factor_level, np.iinfo(np.int64).max).min(axis=1, initial=0)
    level = np.where(graph.R.any(axis=1), graph.variable_level, feeds)
    used = np.asarray(graph.Q.any(axis=1) | graph.R.any(axis=1))
    column = np.concatenate([2 * level, 2 * graph.factor_level + 1])
    adjacent = np.zeros((len(column), len(column)), dtype=bool)
    adjacent[:n, n:] = graph.Q | graph.R
    drawn = np.flatnonzero(np.concatenate([used, np.ones(graph.n_factors, dtype=bool)]))
    names = (*graph.variable_names, *graph.factor_names)
    places = _places(column[drawn], (adjacent | adjacent.T)[np.ix_(drawn, drawn)])
    return {names[node]: place for node, place in zip(drawn, places, strict=True)}


def high_level_layout(graph: FactorGraph) -> dict[str, Place]:
    """Places for the factors in their own causal graph, by topological level."""
    B = graph.factor_adjacency
    places = _places(graph.factor_level, B | B.T)
    return dict(zip(graph.factor_names, places, strict=True))


def _places(
    column: Int[np.ndarray, " nodes"], adjacent: Bool[np.ndarray, "nodes nodes"]
) -> list[Place]:
    height = max(10, math.ceil(1.5 * math.sqrt(len(column))))
    order = _ordered(column, adjacent)
    x, y, left = np.zeros(len(column)), np.zeros(len(column)), 0.0
    for number in np.unique(column):
        nodes = np.flatnonzero(column == number)
        nodes = nodes[np.argsort(order[nodes], kind="stable")]
        n_sub = math.ceil(len(nodes) / height)
        rows = math.ceil(len(nodes) / n_sub)
        position = np.arange(len(nodes))
        # Neighbours in the order stay side by side: fill row by row, not column by column.
        row, sub = position // n_sub, position % n_sub
        x[nodes] = left + SUB_COLUMN * sub
        y[nodes] = (row - (rows - 1) / 2) * min(height / rows, max(3.0, height / 8))
        left += 1.0 + SUB_COLUMN * (n_sub - 1)
    x -= (x.max(initial=0.0) + x.min(initial=0.0)) / 2
    return [Place(round(float(a), 3), round(float(b), 3)) for a, b in zip(x, y, strict=True)]


def _ordered(
    column: Int[np.ndarray, " nodes"], adjacent: Bool[np.ndarray, "nodes nodes"]
) -> Float[np.ndarray, " nodes"]:
    """Positions from 0 to 1 within the columns, after sweeps of putting nodes at their mean."""
    position = np.zeros(len(column))
    for number in np.unique(column):
        nodes = np.flatnonzero(column == number)
        position[nodes] = (np.arange(len(nodes)) + 0.5) / len(nodes)
    degree = np.maximum(adjacent.sum(axis=1), 1)
    for _ in range(SWEEPS):
        for number in np.unique(column):
            nodes = np.flatnonzero(column == number)
            wanted = (adjacent[nodes] @ position) / degree[nodes]
            rank = np.argsort(np.argsort(wanted, kind="stable"), kind="stable")
            position[nodes] = (rank + 0.5) / len(nodes)
    return position
