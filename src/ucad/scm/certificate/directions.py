"""Which directions of the low-level graph rest on the data, and which on nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ucad._types import BooleanMatrix
from ucad.data import InterventionalData
from ucad.graph import FactorGraph
from ucad.scm.certificate.claims import Answer, Claim, listed

__all__ = ["orientation"]

MOST_EDGES_LISTED = 200


def orientation(graph: FactorGraph, data: InterventionalData) -> Claim:
    """Which low-level edges could not be oriented from these interventions?

    An edge X_i → X_j is oriented by known layers; by a regime that clamps exactly one of its ends;
    or by observations, if it is half of an unshielded collider X_i → X_j ← X_h (which the lemma
    guarantees for all edges if every factor has two parents). O(variables³) for the colliders.
    """
    A = graph.variable_adjacency
    layers = data.layer_of is not None and graph.respects_layers(data.layer_of)
    clamped = _separated_by_clamping(data) & A
    collider = A if bool((graph.Q.sum(axis=0) >= 2).all()) else _in_unshielded_collider(A)
    left = A & ~clamped & ~collider & (not layers)
    n_edges, n_left = int(A.sum()), int(left.sum())
    loose = [
        graph.factor_names[k]
        for k in range(graph.n_factors)
        if left[np.ix_(graph.Q[:, k], graph.R[:, k])].any()
    ]
    if n_edges == 0:
        answer = Answer.UNKNOWN
    else:
        answer = Answer.YES if n_left == 0 else Answer.NO if n_left == n_edges else Answer.PARTLY
    return Claim(
        "directions",
        "Do the directions of all edges rest on the data?",
        answer,
        _orientation_text(n_edges, n_left, loose, layers),
        'Lemma "Identifiability of G_L", and interventions on one end of an edge',
        {
            "n_edges": n_edges,
            "by_layers": n_edges if layers else 0,
            "by_clamping_one_end": int(clamped.sum()),
            "by_observations_only": int((collider & ~clamped).sum()),
            "not_oriented": n_left,
            "edges_not_oriented": [
                [graph.variable_names[i], graph.variable_names[j]]
                for i, j in np.argwhere(left)[:MOST_EDGES_LISTED]
            ],
            "factors_not_oriented": loose,
        },
    )


def _separated_by_clamping(data: InterventionalData) -> BooleanMatrix:
    """Entry [i, j]: some regime with samples clamps exactly one of the two variables."""
    targets = data.targets.astype(np.float32)
    both = targets.T @ targets
    times = targets.sum(axis=0)
    return times[:, None] + times[None] - 2 * both > 0


def _in_unshielded_collider(A: BooleanMatrix) -> BooleanMatrix:
    """Edges i → j with another parent of j that is not adjacent to i."""
    apart = ~(A | A.T)
    np.fill_diagonal(apart, val=False)
    return A & (apart.astype(np.float32) @ A.astype(np.float32) > 0)


def _orientation_text(n_edges: int, n_left: int, loose: Sequence[str], layers: bool) -> str:
    if n_edges == 0:
        return "The graph has no edges, so there is nothing to orient."
    if layers:
        return f"The known layers of the variables give all {n_edges} low-level edges a direction."
    if n_left == 0:
        return (
            f"Each of the {n_edges} low-level edges has its direction from a clamp on exactly one "
            "of its ends, or from the pattern of dependences in the data."
        )
    return (
        f"{n_left} of {n_edges} low-level edges could not be oriented from these data: no regime "
        "clamps just one end, and the dependences fit either direction. The direction of "
        f"{listed(loose)} may not be claimed; clamping a parent or a child would settle it."
    )
