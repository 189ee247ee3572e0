"""A graph that prior knowledge is imposed on."""

from __future__ import annotations

import numpy as np

from ucad._types import VariablesByFactors
from ucad.graph import FactorGraph, boolean_product, topological_levels
from ucad.solvers.prior import PriorKnowledge

__all__ = ["graph_with"]


def graph_with(prior: PriorKnowledge, Q: VariablesByFactors, R: VariablesByFactors) -> FactorGraph:
    """The graph (Q, R) as the prior wants it, without those edges to children that close a cycle.

    Raises:
        InvalidInputError: the required edges alone contain a cycle.
    """
    wanted_Q, wanted_R = prior.imposed_on(Q, R)
    needed = prior.imposed_on(np.zeros_like(Q), np.zeros_like(R))
    if topological_levels(boolean_product(wanted_R.T, wanted_Q)) is not None:
        return FactorGraph(wanted_Q, wanted_R)
    edges_Q, edges_R = FactorGraph(*needed).Q.copy(), needed[1].copy()
    for edges, wanted in [(edges_Q, wanted_Q), (edges_R, wanted_R)]:
        for variable, factor in np.argwhere(wanted & ~edges):
            edges[variable, factor] = True
            if topological_levels(boolean_product(edges_R.T, edges_Q)) is None:
                edges[variable, factor] = False
    return FactorGraph(edges_Q, edges_R)
