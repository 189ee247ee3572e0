"""Which gene sets the parents and the children of a factor are enriched in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ucad.data.targets import JOINT
from ucad.errors import InvalidInputError
from ucad.gene_sets.files import GeneSet
from ucad.graph import FactorGraph

__all__ = ["Enrichment", "Hit", "enrichment"]

LEVEL = 0.05
"""The false discovery rate up to which a set is named."""

MIN_OVERLAP = 2
"""Genes that a set and a factor must share: one shared gene names nothing."""

N_PERMUTED = 100
"""Permutations of the genes that the number of hits is compared with: its mean is known to 10 %."""


@dataclass(frozen=True)
class Hit:
    """A set that a factor's parents or children are enriched in.

    Attributes:
        factor: the factor.
        side: `parents` or `children`.
        gene_set: the set.
        shared: the genes that both hold.
        n_genes: how many the factor has on that side.
        n_in_set: how many measured genes the set has.
        p: the hypergeometric probability of sharing at least so many.
        q: p after Benjamini and Hochberg over all factors, sides and sets.
    """

    factor: str
    side: str
    gene_set: str
    shared: tuple[str, ...]
    n_genes: int
    n_in_set: int
    p: float
    q: float


@dataclass(frozen=True, kw_only=True)
class Enrichment:
    """All sets that pass, beside how many pass when genes are permuted.

    Attributes:
        hits: the sets with q at most 0.05, the smallest p first.
        n_tests: factors × sides × sets that were tested.
        n_background: measured genes.
        permuted: how many sets pass, on average, for factors with permuted genes.
        names: factor → the set of its children with the smallest p, else that of its parents.
    """

    hits: tuple[Hit, ...]
    n_tests: int
    n_background: int
    permuted: float
    names: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """The same as JSON holds it."""
        return asdict(self)


def enrichment(graph: FactorGraph, sets: Sequence[GeneSet], seed: int = 0) -> Enrichment:
    """Tests every factor's parents and children against every set, among the measured genes.

    P(overlap ≥ o) = Σ_{i ≥ o} C(K, i) C(n − K, g − i) / C(n, g) for a set with K of the n measured
    genes and a factor with g of them. A variable that was merged counts as all its genes. The same
    is done for genes permuted at random, which is what the method finds where there is nothing.

    Raises:
        InvalidInputError: no set has two measured genes.
    """
    member = np.array(
        [[bool(s.genes & set(name.split(JOINT))) for s in sets] for name in graph.variable_names]
    ).reshape(graph.n_variables, len(sets))
    kept = np.flatnonzero(member.sum(axis=0) >= MIN_OVERLAP)
    if not len(kept):
        raise InvalidInputError(
            f"No gene set has {MIN_OVERLAP} of the measured genes. Do the sets use the same names, "
            f"such as '{graph.variable_names[0]}'?"
        )
    member = member[:, kept]
    sides = [(k, side) for k in range(graph.n_factors) for side in ("parents", "children")]
    genes = np.stack([(graph.Q if side == "parents" else graph.R)[:, k] for k, side in sides], 1)
    p, q = _tested(genes, member)
    hits = [
        Hit(
            graph.factor_names[sides[row][0]],
            sides[row][1],
            sets[kept[column]].name,
            tuple(np.array(graph.variable_names)[genes[:, row] & member[:, column]].tolist()),
            int(genes[:, row].sum()),
            int(member[:, column].sum()),
            float(p[row, column]),
            float(q[row, column]),
        )
        for row, column in np.argwhere(q <= LEVEL)
    ]
    hits.sort(key=lambda hit: (hit.p, hit.factor, hit.gene_set))
    rng = np.random.default_rng(seed)
    passed = [
        int((_tested(rng.permutation(genes), member)[1] <= LEVEL).sum()) for _ in range(N_PERMUTED)
    ]
    return Enrichment(
        hits=tuple(hits),
        n_tests=int(p.size),
        n_background=graph.n_variables,
        permuted=float(np.mean(passed)),
        names=_names(hits),
    )


def _tested(
    genes: Bool[np.ndarray, "variables sides"], member: Bool[np.ndarray, "variables sets"]
) -> tuple[Float[np.ndarray, "sides sets"], Float[np.ndarray, "sides sets"]]:
    """Returns p and q; a side and a set that share fewer than two genes have p = 1."""
    from scipy.stats import hypergeom

    shared = genes.T.astype(float) @ member.astype(float)
    size, drawn = member.sum(axis=0)[None], genes.sum(axis=0)[:, None]
    p = np.where(shared >= MIN_OVERLAP, hypergeom.sf(shared - 1, len(genes), size, drawn), 1.0)
    order = np.argsort(p, axis=None, kind="stable")
    scaled = p.reshape(-1)[order] * p.size / np.arange(1, p.size + 1)
    q = np.empty(p.size)
    q[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return p, q.reshape(p.shape)


def _names(hits: Sequence[Hit]) -> dict[str, str]:
    names: dict[str, str] = {}
    for hit in sorted(hits, key=lambda hit: (hit.side != "children", hit.p)):
        names.setdefault(hit.factor, hit.gene_set)
    return names
