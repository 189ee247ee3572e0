"""How things hang together: Boolean algebra and factor graphs."""

from __future__ import annotations

from ucad.graph.boolean import (
    AnchorCondition,
    Factorisation,
    boolean_product,
    factorise,
    has_anchors,
    in_anchors,
    minimal_columns,
    minimal_rows,
    out_anchors,
    row_sparsity,
    transitive_closure,
)
from ucad.graph.covers import BooleanRank, boolean_rank, disjunctness, is_disjunct
from ucad.graph.factor_graph import FactorGraph, topological_levels

__all__ = [
    "AnchorCondition",
    "BooleanRank",
    "FactorGraph",
    "Factorisation",
    "boolean_product",
    "boolean_rank",
    "disjunctness",
    "factorise",
    "has_anchors",
    "in_anchors",
    "is_disjunct",
    "minimal_columns",
    "minimal_rows",
    "out_anchors",
    "row_sparsity",
    "topological_levels",
    "transitive_closure",
]
