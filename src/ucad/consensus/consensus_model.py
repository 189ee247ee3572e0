"""The consensus model: the DAG of what is stable, fitted anew to all samples."""

from __future__ import annotations

import numpy as np

from ucad._types import VariablesByFactors
from ucad.consensus.counting import Counts
from ucad.consensus.support import STABLE, Graph
from ucad.data import InterventionalData, Scaling
from ucad.errors import InvalidInputError
from ucad.graph import FactorGraph, boolean_product, topological_levels
from ucad.scm import FactorSCM
from ucad.scm.families import Family, family_of
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.search import oracle_score

__all__ = ["consensus_graph", "refitted"]


def consensus_graph(
    counts: Counts,
    data: InterventionalData,
    prior: PriorKnowledge | None = None,
    threshold: float = STABLE,
) -> FactorGraph | None:
    """The edges of stable factors with enough support, most support first, as long as no cycle.

    What prior knowledge requires comes first and what it forbids does not come in. A factor that
    is left without parents or without children is left out; None if all are.
    """
    Q, R = (np.asarray(counts.share(counts.found(g), halves=True)) for g in (Graph.Q, Graph.R))
    support = np.stack([Q, R.T])
    stable = (counts.partner[counts.is_half] >= 0).mean(axis=0) >= threshold
    support[:, :, ~stable] = 0.0
    edges = np.zeros(support.shape, dtype=bool)
    for required, at in _statements(prior, len(counts.factor_names)):
        support[at] = 0.0
        edges[at] = required and bool(stable[at[2]])
    order = np.argsort(-support, axis=None, kind="stable")
    for flat in order[: int((support >= threshold).sum())]:
        at = np.unravel_index(flat, support.shape)
        edges[at] = True
        if not _is_legal(edges, data):
            edges[at] = False
    kept = np.flatnonzero(edges.any(axis=1).all(axis=0))
    if not len(kept):
        return None
    names = tuple(counts.factor_names[k] for k in kept)
    return FactorGraph(edges[0][:, kept], edges[1][:, kept], counts.graph.variable_names, names)


def refitted(
    graph: FactorGraph, like: FactorSCM, data: InterventionalData, seed: int = 0
) -> FactorSCM:
    """A graph with mechanisms of the same families as a model's, fitted to all samples."""
    families: tuple[Family, Family] = (
        family_of(like.factor_mechanism),
        family_of(like.variable_mechanism),
    )
    scaling = Scaling.of(data.x)
    result = oracle_score(data.standardised(scaling), graph, families, seed=seed)
    scm = result.scm.in_original_units(scaling).canonical(data.x)
    named = FactorGraph(scm.graph.Q, scm.graph.R, graph.variable_names, graph.factor_names)
    return FactorSCM(named, scm.factor_mechanism, scm.variable_mechanism, scm.noise_scale)


def _is_legal(edges: np.ndarray, data: InterventionalData) -> bool:
    Q: VariablesByFactors = edges[0]
    R: VariablesByFactors = edges[1]
    if (Q & R).any() or topological_levels(boolean_product(R.T, Q)) is None:
        return False
    return data.layer_of is None or FactorGraph(Q, R).respects_layers(data.layer_of)


def _statements(
    prior: PriorKnowledge | None, n_factors: int
) -> list[tuple[bool, tuple[int, int, int]]]:
    """What is required or forbidden, and where in (Q, R)."""
    if prior is None:
        return []
    if prior.shape[1] > n_factors:
        raise InvalidInputError(
            f"The prior knowledge must be about at most {n_factors} factors. Got {prior.shape[1]}."
        )
    return [
        (kind.startswith("required"), (int(kind.endswith("child")), i, k))
        for kind, i, k in prior.statements()
    ]
