"""What prior knowledge means to a search whose factors have no names yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from ucad._types import BooleanMatrix, VariablesByFactors
from ucad.graph import FactorGraph, boolean_product, topological_levels
from ucad.solvers.prior import PriorKnowledge

__all__ = ["Possibilities", "graph_with", "possibilities"]


@dataclass(frozen=True, eq=False)
class Possibilities:
    """Which edges the prior leaves open to each of its factors.

    A candidate factor may be any of the prior's factors that forbids none of its edges.

    Attributes:
        parent: entry [i, k] says that variable i may be a parent of factor k.
        child: entry [j, k] says that variable j may be a child of factor k.
        known: pairs (i, j) of a required parent and a required child of one factor.
        anchored: entry [j, k] says that j is a required child of factor k and of no other.
        required: the required parents of each factor.
    """

    parent: VariablesByFactors
    child: VariablesByFactors
    known: BooleanMatrix
    anchored: VariablesByFactors
    required: VariablesByFactors

    @property
    def pairs(self) -> BooleanMatrix:
        """Pairs (i, j) of a parent and a child that some factor may have."""
        return boolean_product(self.parent, self.child.T)

    def children(
        self, parents: Bool[np.ndarray, "variables candidates"]
    ) -> Bool[np.ndarray, "variables candidates"]:
        """Which variables may be children of a candidate with these parents."""
        may_be = ~boolean_product((~self.parent).T, parents)
        return boolean_product(self.child, may_be)


def possibilities(prior: PriorKnowledge) -> Possibilities:
    """What a prior forbids, requires and implies: a required parent is no child.

    >>> one = np.array([[True], [False]])
    >>> possibilities(PriorKnowledge(required_parent=one)).pairs.astype(int)
    array([[0, 1],
           [0, 1]])
    """
    nothing = np.zeros(prior.shape, dtype=bool)
    needed_parent, needed_child, no_parent, no_child = (
        nothing if part is None else np.asarray(part)
        for part in (
            prior.required_parent,
            prior.required_child,
            prior.forbidden_parent,
            prior.forbidden_child,
        )
    )
    return Possibilities(
        parent=~(no_parent | needed_child),
        child=~(no_child | needed_parent),
        known=boolean_product(needed_parent, needed_child.T),
        anchored=needed_child & (needed_child.sum(axis=1, keepdims=True) == 1),
        required=needed_parent,
    )


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
