"""Edges that hang on a direction which the data leave open: that they come back says nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ucad._types import BooleanMatrix, VariableSamples, VariablesByFactors
from ucad.claims import Certificate
from ucad.claims.equal_parents import equal_parents
from ucad.claims.own_noise import MIN_NOISE
from ucad.consensus.support import Graph
from ucad.data import InterventionalData
from ucad.graph import FactorGraph, boolean_product, transitive_closure
from ucad.scm import FactorSCM

__all__ = ["OpenEdges", "open_edges"]

MIN_TOGETHER = 2
"""Variables that two relations must share for a multiple of one to leave the other as short."""

Pairs = Collection[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class OpenEdges:
    """What hangs on open directions.

    Attributes:
        graph: of the model.
        either_way: pairs of variables that may cause each other, [i, j] and [j, i].
        ends: the ends of open edges into variables without noise. Such a relation can be solved for
            either end, and all that then enters or leaves the one enters or leaves the other.
        rewritten: variables without noise whose causes may be others: their relation holds an end,
            or two variables of an open relation, a multiple of which then takes one of them out.
        by_copy: edges of Q into a factor that could as well come from another variable, and those
            from that variable.
    """

    graph: FactorGraph
    either_way: BooleanMatrix
    ends: Bool[np.ndarray, " variables"]
    rewritten: Bool[np.ndarray, " variables"]
    by_copy: VariablesByFactors

    def has(self, which: Graph, cause: str, effect: str) -> bool:
        """Whether an edge hangs on an open direction: in B if all that carries it does."""
        v, k = self.graph.variable_names, self.graph.factor_names
        if which is Graph.A:
            i, j = v.index(cause), v.index(effect)
            open_end = self.either_way[i, j] or self.ends[i] or self.ends[j]
            return bool(open_end or self.rewritten[j] or self._is_by_copy(i, j))
        if which is Graph.B:
            if not {cause, effect} <= set(k):
                return False
            a, b = k.index(cause), k.index(effect)
            carries = self.graph.R[:, a] & self.graph.Q[:, b]
            return bool(carries.any() and self._enters[:, b][carries].all())
        variable, factor = (cause, effect) if which is Graph.Q else (effect, cause)
        i = v.index(variable)
        if factor not in k:
            return bool(self.ends[i])
        one = self._enters if which is Graph.Q else self._leaves
        return bool(one[i, k.index(factor)])

    @property
    def _enters(self) -> BooleanMatrix:
        """The edges of Q with an open direction to a child, or to nothing but rewritten ones.

        Also those that could as well come from another variable.
        """
        Q, R = np.asarray(self.graph.Q), np.asarray(self.graph.R)
        settled = R[~self.rewritten].any(axis=0)
        hang = ((self.either_way.astype(int) @ R) > 0) | ~settled
        return self.ends[:, None] | (Q & hang) | self.by_copy

    def _is_by_copy(self, i: int, j: int) -> bool:
        """Whether all that carries an edge i → j could come from another variable."""
        Q, R = np.asarray(self.graph.Q), np.asarray(self.graph.R)
        return bool((self.by_copy[i] & R[j]).any() and not (Q[i] & R[j] & ~self.by_copy[i]).any())

    @property
    def _leaves(self) -> BooleanMatrix:
        """The edges of R with an open direction from every parent of their factor."""
        Q, R = np.asarray(self.graph.Q), np.asarray(self.graph.R)
        closed = (~self.either_way).astype(int) @ Q > 0
        hang = self.ends | self.rewritten
        return hang[:, None] | (R & Q.any(axis=0) & ~closed)


def open_edges(
    scm: FactorSCM,
    data: InterventionalData,
    told: Pairs = (),
    certificate: Certificate | None = None,
) -> OpenEdges:
    """What hangs on the directions that a solver or a certificate left open.

    Beside these, edges into a variable without noise are open if nobody acted on either end: the
    pattern of dependences tells no direction there. So are edges that could as well come from
    another variable.

    Args:
        scm: the model fitted to all samples.
        data: these samples, in its units.
        told: the edges whose direction its solver could not decide.
        certificate: of the model.
    """
    graph = scm.graph
    A = graph.variable_adjacency
    exact, untouched = _is_exact(scm, data), np.logical_not(data.is_intervened.any(axis=0))
    is_open = A & exact & untouched & untouched[:, None]
    if data.layer_of is not None and graph.respects_layers(data.layer_of):
        is_open[:] = False
    found = [] if certificate is None else certificate["directions"].details["edges_not_oriented"]
    assert isinstance(found, list)
    for i, j in _places(graph, [*told, *(tuple(pair) for pair in found)]):
        is_open[i, j] = True
    into_exact = is_open & exact
    ends = into_exact.any(axis=0) | into_exact.any(axis=1)
    relation = (A | np.eye(len(A), dtype=bool)) & exact
    both = relation.T.astype(int) @ relation[:, into_exact.any(axis=0)]
    rewritten = exact & (relation[ends].any(axis=0) | (both >= MIN_TOGETHER).any(axis=1))
    by_copy = np.zeros_like(np.asarray(graph.Q))
    for i, k, copies in equal_parents(
        np.asarray(graph.Q), np.asarray(graph.R), data, _may_be(data)
    ):
        by_copy[[i, *copies], k] = True
    return OpenEdges(graph, is_open | is_open.T, ends, rewritten, by_copy)


def _may_be(data: InterventionalData) -> Callable[[VariablesByFactors, VariablesByFactors], bool]:
    """Whether a graph is acyclic and respects the layers of the data."""

    def allows(Q: VariablesByFactors, R: VariablesByFactors) -> bool:
        A = transitive_closure(boolean_product(Q, R.T))
        if np.diagonal(A).any():
            return False
        return data.layer_of is None or FactorGraph(Q, R).respects_layers(data.layer_of)

    return allows


def _is_exact(scm: FactorSCM, data: InterventionalData) -> Bool[np.ndarray, " variables"]:
    """The variables of which their factors leave next to nothing where they are free."""
    residual = data.x - scm.expected_variables(scm.state_map(data.x)).numpy()
    free = ~data.is_left_out
    left, whole = (_free_variance(x, free) for x in (residual, data.x))
    return np.asarray(np.asarray(scm.graph.R).any(axis=1) & (left < MIN_NOISE * whole))


def _free_variance(
    x: VariableSamples, free: Bool[np.ndarray, "samples variables"]
) -> Float[np.ndarray, " variables"]:
    """The variance of every variable over the samples in which it is free; 0 without any."""
    count = np.maximum(free.sum(axis=0), 1)
    mean = np.where(free, x, 0.0).sum(axis=0) / count
    return np.asarray(np.where(free, (x - mean) ** 2, 0.0).sum(axis=0) / count)


def _places(graph: FactorGraph, pairs: Iterable[tuple[str, ...]]) -> list[tuple[int, int]]:
    at = {name: number for number, name in enumerate(graph.variable_names)}
    return [(at[i], at[j]) for i, j in pairs if i in at and j in at]
