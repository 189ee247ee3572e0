"""From fits on parts of the samples to how often each factor and edge comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ucad._types import FactorSamples, VariableSamples
from ucad.consensus.error_control import ErrorControl, wilson
from ucad.consensus.matching import correlations, factor_values, level_for, match
from ucad.consensus.resampling import Draw, Kind
from ucad.consensus.support import STABLE, EdgeSupport, FactorSupport, FitAccount, Graph
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM

__all__ = ["Counts", "Fit", "count", "edge_support", "error_control", "factor_support"]

MIN_SHARE_OF_NEW = 0.5
"""A factor that only the fits on parts found gets a place of its own from this share of them on:
below it most fits say that it is not there."""


class Fit(NamedTuple):
    """A fit on some of the samples."""

    draw: Draw
    scm: FactorSCM


@dataclass(frozen=True, eq=False)
class Counts:
    """In which fits each factor and edge was found, arrays of fits × what was found.

    Attributes:
        graph: that of the model fitted to all samples.
        factor_names: its factors, then those that only the fits found.
        fits: the fits.
        partner: the number of each factor in each fit, −1 if it has none.
        correlation: with the partner, signed.
        level: what partners must exceed.
    """

    graph: FactorGraph
    factor_names: tuple[str, ...]
    fits: tuple[Fit, ...]
    partner: np.ndarray
    correlation: np.ndarray
    level: float

    @cached_property
    def is_half(self) -> Bool[np.ndarray, " fits"]:
        """Which fits are halves."""
        return np.array([fit.draw.kind is Kind.HALF for fit in self.fits], dtype=bool)

    @cached_property
    def n_pairs(self) -> int:
        """Pairs of halves of which both ended well."""
        deals = [fit.draw.deal for fit in self.fits if fit.draw.kind is Kind.HALF]
        return sum(deals.count(deal) == 2 for deal in set(deals))

    def found(self, graph: Graph) -> Bool[np.ndarray, "fits causes effects"]:
        """In which fits each edge is; Q and B by cause and effect, R by factor and variable."""
        return np.stack([self._edges(graph, number) for number in range(len(self.fits))])

    def share(self, found: np.ndarray, *, halves: bool) -> np.ndarray | None:
        """How often, over the halves or over the fits without some regimes."""
        which = self.is_half if halves else ~self.is_half
        return found[which].mean(axis=0) if which.any() else None

    def in_model(self, graph: Graph) -> Bool[np.ndarray, "causes effects"]:
        """The edges of the model fitted to all samples, with rows and columns for new factors."""
        n_new = len(self.factor_names) - self.graph.n_factors
        edges = _matrix(self.graph, graph)
        rows = n_new if graph in (Graph.R, Graph.B) else 0
        columns = n_new if graph in (Graph.Q, Graph.B) else 0
        return np.pad(edges, ((0, rows), (0, columns)))

    def names(self, graph: Graph) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Of causes and effects."""
        variables, factors = self.graph.variable_names, self.factor_names
        return {
            Graph.Q: (variables, factors),
            Graph.R: (factors, variables),
            Graph.A: (variables, variables),
            Graph.B: (factors, factors),
        }[graph]

    def _edges(self, graph: Graph, number: int) -> Bool[np.ndarray, "causes effects"]:
        """The edges of one fit, its factors put in our order."""
        edges = _matrix(self.fits[number].scm.graph, graph)
        at = self.partner[number]  # −1 takes the row or column without edges that is put last
        if graph in (Graph.R, Graph.B):
            edges = np.pad(edges, ((0, 1), (0, 0)))[at]
        if graph in (Graph.Q, Graph.B):
            edges = np.pad(edges, ((0, 0), (0, 1)))[:, at]
        return edges


def count(scm: FactorSCM, fits: Sequence[Fit], x: VariableSamples) -> Counts:
    """Matches the factors of all fits with those of the model, and with each other where new.

    Args:
        scm: the model fitted to all samples; its factors keep their names.
        fits: those on parts of the samples.
        x: common samples, on which factors are compared.
    """
    values = [factor_values(fit.scm, x) for fit in fits]
    level = level_for(len(x), scm.graph.n_factors, max(z.shape[1] for z in values))
    reference = _with_new(factor_values(scm, x), values, level)
    partner = np.full((len(fits), reference.shape[1]), -1, dtype=np.int64)
    r = np.zeros(partner.shape)
    for number, z in enumerate(values):
        found = match(reference, z, level)
        partner[number] = [-1 if at is None else at for at in found.partner]
        r[number] = found.correlation
    names = _names(scm.graph, reference.shape[1])
    return Counts(scm.graph, names, tuple(fits), partner, r, level)


def factor_support(counts: Counts, in_consensus: Sequence[str]) -> tuple[FactorSupport, ...]:
    """One row per factor."""
    has = counts.partner >= 0
    without = counts.share(has, halves=False)
    n_halves = int(counts.is_half.sum())
    rows = []
    for k, name in enumerate(counts.factor_names):
        n_found = int(has[counts.is_half, k].sum())
        r = np.abs(counts.correlation[has[:, k], k])
        rows.append(
            FactorSupport(
                name,
                n_found / max(n_halves, 1),
                *wilson(n_found, n_halves),
                float(r.mean()) if len(r) else 0.0,
                None if without is None else float(without[k]),
                k < counts.graph.n_factors,
                name in in_consensus,
            )
        )
    return tuple(rows)


def edge_support(
    counts: Counts,
    graph: Graph,
    consensus: FactorGraph | None,
    hangs: Callable[[Graph, str, str], bool] | None = None,
) -> tuple[EdgeSupport, ...]:
    """One row per edge of the model and per edge found in at least two fits.

    `hangs` says of an edge, by cause and effect, whether it hangs on an open direction.
    """
    found, in_model = counts.found(graph), counts.in_model(graph)
    causes, effects = counts.names(graph)
    n_halves = int(counts.is_half.sum())
    n_found = found[counts.is_half].sum(axis=0)
    without = counts.share(found, halves=False)
    kept = set() if consensus is None else set(_named(consensus, graph))
    listed = np.argwhere(in_model | (found.sum(axis=0) >= 2))
    rows = [
        EdgeSupport(
            graph,
            causes[a],
            effects[b],
            int(n_found[a, b]) / max(n_halves, 1),
            *wilson(int(n_found[a, b]), n_halves),
            None if without is None else float(without[a, b]),
            bool(in_model[a, b]),
            (causes[a], effects[b]) in kept,
            hangs is not None and hangs(graph, causes[a], effects[b]),
        )
        for a, b in listed
    ]
    return tuple(sorted(rows, key=lambda row: -row.support))


def error_control(counts: Counts, graph: Graph, threshold: float = STABLE) -> ErrorControl:
    """How many edges above the threshold are expected by chance."""
    found = counts.found(graph)[counts.is_half]
    n, m = counts.graph.n_variables, len(counts.factor_names)
    possible = {Graph.Q: n * m, Graph.R: n * m, Graph.A: n * (n - 1), Graph.B: m * (m - 1)}[graph]
    selected = float(found.sum(axis=(1, 2)).mean()) if len(found) else 0.0
    above = int((found.mean(axis=0) >= threshold).sum()) if len(found) else 0
    return ErrorControl.of(selected, possible, above, threshold, counts.n_pairs)


def fit_accounts(counts: Counts) -> tuple[FitAccount, ...]:
    """What each fit was, and who is who in it."""
    return tuple(
        FitAccount(
            fit.draw.kind.value,
            fit.draw.deal,
            fit.draw.part,
            tuple(None if at < 0 else int(at) for at in counts.partner[number]),
            tuple(-1 if r < 0 else 1 for r in counts.correlation[number]),
        )
        for number, fit in enumerate(counts.fits)
    )


def _with_new(
    reference: FactorSamples, values: Sequence[Float[np.ndarray, "samples _"]], level: float
) -> Float[np.ndarray, "samples _"]:
    """The reference and, one after the other, factors without a partner in it that most fits have.

    The one with partners in the most fits comes first, as that fit has it.
    """
    for _ in range(max(z.shape[1] for z in values)):
        free = []
        for z in values:
            taken = {at for at in match(reference, z, level).partner if at is not None}
            free.append(z[:, [k for k in range(z.shape[1]) if k not in taken]])
        candidates = np.concatenate(free, axis=1)
        if not candidates.shape[1]:
            return reference
        hits = sum(
            (np.abs(correlations(candidates, z)) > level).any(axis=1).astype(int)
            for z in free
            if z.shape[1]
        )
        best = int(np.argmax(hits))
        if np.asarray(hits)[best] < MIN_SHARE_OF_NEW * len(values):
            return reference
        reference = np.concatenate([reference, candidates[:, [best]]], axis=1)
    return reference


def _names(graph: FactorGraph, n_factors: int) -> tuple[str, ...]:
    """The factors' names, and the next numbers for new ones."""
    names = list(graph.factor_names)
    letter = names[0].rstrip("0123456789") if names else "Z"
    number = 1
    while len(names) < n_factors:
        name = f"{letter}{number}"
        if name not in names and name not in graph.variable_names:
            names.append(name)
        number += 1
    return tuple(names)


def _matrix(graph: FactorGraph, which: Graph) -> Bool[np.ndarray, "causes effects"]:
    edges = {
        Graph.Q: lambda: graph.Q,
        Graph.R: lambda: graph.R.T,
        Graph.A: lambda: graph.variable_adjacency,
        Graph.B: lambda: graph.factor_adjacency,
    }
    return np.asarray(edges[which]())


def _named(graph: FactorGraph, which: Graph) -> list[tuple[str, str]]:
    variables, factors = graph.variable_names, graph.factor_names
    causes = variables if which in (Graph.Q, Graph.A) else factors
    effects = factors if which in (Graph.Q, Graph.B) else variables
    return [(causes[a], effects[b]) for a, b in np.argwhere(_matrix(graph, which))]
