"""What a low-level edge that several factors carry is worth: their paths may cancel."""

from __future__ import annotations

from collections.abc import Collection
from itertools import permutations

import numpy as np

from ucad.claims.effects import contribution
from ucad.claims.robust import log_density, spread
from ucad.claims.samples import Rows, TestSamples
from ucad.graph import FactorGraph

__all__ = ["net_worth", "replaceable"]

MAX_PAIRS, MAX_PAIRS_IF_LARGE = 2000, 200
"""Pairs that are tested at most, spread evenly over all."""


def net_worth(samples: TestSamples, rows: Rows) -> dict[tuple[int, int], float]:
    """What x_i adds to x_j along all paths together, for every pair with more than one path.

    c = F_X(τ(x))_j − F_X(τ(x with x_i at its mean))_j, and d = log p(e_j) − log p(e_j + c) by
    Student's t: its mean over unseen samples is positive if the edge is there, and not if its paths
    cancel. The paired z is mean(d) / se(d). A mixture z_k + c·z_l in place of z_k explains the data
    as well as z_k, and every edge of its own is worth something; but it makes low-level edges
    that do nothing.
    """
    paths = samples.graph.Q.astype(np.int64) @ samples.graph.R.T.astype(np.int64)
    pairs = np.argwhere(paths > 1)
    most = MAX_PAIRS_IF_LARGE if samples.is_large else MAX_PAIRS
    pairs = pairs[:: max(1, len(pairs) // most)]
    found = {}
    for i in np.unique(pairs[:, 0]):
        effects = pairs[pairs[:, 0] == i, 1]
        c, y = contribution(samples, int(i), effects, rows)
        free = ~samples.is_intervened[np.ix_(rows, effects)]
        size = np.array([spread(samples.residual[samples.free(int(j), rows), j]) for j in effects])
        d = np.where(free, log_density((y - c) / size) - log_density(y / size), 0.0)
        count = np.maximum(free.sum(axis=0), 1)
        mean = d.sum(axis=0) / count
        error = np.sqrt((np.where(free, d - mean, 0.0) ** 2).sum(axis=0)) / count
        for j, z in zip(effects, mean / np.maximum(error, 1e-300), strict=True):
            found[int(i), int(j)] = float(z)
    return found


def replaceable(
    graph: FactorGraph, cancelled: Collection[tuple[int, int]]
) -> list[tuple[int, int, int, int]]:
    """Cancelled edges (i, j), with factors k and l such that a mixture of both would do for k.

    If the paths of i → j through k and l cancel, x_j follows one mixture z' of z_k and z_l, which i
    does not enter. With z' in place of z_k, the parents of z' are those of both but for the
    cancelled ones; x_j no longer needs z_l; a child of z_k alone needs z' and z_l. Nothing tells
    the two models apart if the second has no more edges than the first. A pair that cancels by
    accident in a true model seldom has such a double.
    """
    found = []
    for i, j in sorted(cancelled):
        idle = {a for a, b in cancelled if b == j}
        for k, other in permutations(np.flatnonzero(graph.Q[i] & graph.R[j]).tolist(), 2):
            if _extra_edges(graph, (j, k, other), idle, set(cancelled)) <= 0:
                found.append((i, j, k, other))
                break
    return found


def _extra_edges(
    graph: FactorGraph,
    at: tuple[int, int, int],
    idle: Collection[int],
    cancelled: Collection[tuple[int, int]],
) -> int:
    """How many edges more the model with the mixture in place of factor k has."""
    j, k, other = at
    Q, R = graph.Q, graph.R
    both = {int(i) for i in np.flatnonzero(Q[:, k] & Q[:, other]) if i in idle}
    n_parents = int((Q[:, k] | Q[:, other]).sum()) - len(both)
    freed = [
        c
        for c in np.flatnonzero(R[:, k] & R[:, other])
        if c == j or all((i, int(c)) in cancelled for i in both)
    ]
    burdened = int((R[:, k] & ~R[:, other]).sum())
    return n_parents - int(Q[:, k].sum()) + burdened - len(freed)
