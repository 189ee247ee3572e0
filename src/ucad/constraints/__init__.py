"""How far a relaxed graph is from each condition: pure functions of (Q, R)."""

from __future__ import annotations

from ucad.constraints.acyclicity import (
    Acyclicity,
    acyclicity_violation,
    bipartite_spectral_radius,
    layer_violation,
    matrix_power_trace,
    spectral_radius,
    trace_exponential,
)
from ucad.constraints.anchors import anchor_counts, anchor_scores, anchor_violation
from ucad.constraints.sparsity import density, sparsity_violation

__all__ = [
    "Acyclicity",
    "acyclicity_violation",
    "anchor_counts",
    "anchor_scores",
    "anchor_violation",
    "bipartite_spectral_radius",
    "density",
    "layer_violation",
    "matrix_power_trace",
    "sparsity_violation",
    "spectral_radius",
    "trace_exponential",
]
