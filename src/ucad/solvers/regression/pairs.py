"""Pairs of variables whose product predicts a target, though neither may do so alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ucad._types import BooleanMatrix, VariableSamples, WhichIntervened
from ucad.solvers.regression.fitting import subset

__all__ = ["BestPairs", "best_pairs"]

MAX_PAIRED = 160
"""Variables up to which all pairs are looked at: 12,720 products take a second."""

N_SAMPLES = 4000
"""Samples by which products are judged: a product that explains 1 % of a target shows in 20 nats,
beside 14 for the best of a million by chance."""

CLIP = 3.0
"""Standard deviations at which inputs are cut, so that no single sample makes a product."""

SURE = 3.0
"""Nats beyond the logarithm of the number of tests: a false pair in one data set of twenty."""


class BestPairs(NamedTuple):
    """For every target the pair of causes whose product predicts it best.

    Attributes:
        pairs: the two variables.
        nats: what the product gains over all samples; 0 where chance could do as well.
    """

    pairs: Int[np.ndarray, "targets two"]
    nats: Float[np.ndarray, " targets"]


def best_pairs(
    x: VariableSamples,
    targets: VariableSamples,
    left_out: WhichIntervened,
    may_precede: BooleanMatrix,
) -> BestPairs:
    """The largest −N/2 · log(1 − r²) of a target j and x_i x_k, over all admissible i and k.

    A factor like x_i x_k has no slope and no curve in x_i alone, so that regressions that add
    functions of single variables see none of its causes. O(n³) times a part of the samples.

    Args:
        x: standardised samples.
        targets: what shall be predicted, one column per variable.
        left_out: samples that do not count for a target.
        may_precede: [i, j] where i may be a cause of j.
    """
    n = x.shape[1]
    none = BestPairs(np.zeros((n, 2), dtype=np.int64), np.zeros(n))
    if not 2 < n <= MAX_PAIRED:
        return none
    rows = subset(np.arange(len(x)), N_SAMPLES)
    u = np.clip(x[rows], -CLIP, CLIP).astype(np.float32)
    free = ~left_out[rows]
    count = np.maximum(free.sum(axis=0), 1)
    y = np.where(free, targets[rows], 0.0)
    y = np.where(free, y - y.sum(axis=0) / count, 0.0).astype(np.float32)
    y /= np.maximum(np.sqrt((y**2).sum(axis=0)), 1e-12)
    best, share = none.pairs, np.zeros(n)
    for i in range(n - 1):
        products = u[:, [i]] * u[:, i + 1 :]
        products -= products.mean(axis=0)
        size = (products**2).sum(axis=0)[:, None] * (count / len(rows))
        each = (products.T @ y) ** 2 / np.maximum(size, 1e-12)
        each[~(may_precede[i + 1 :] & may_precede[i])] = 0.0
        k = each.argmax(axis=0)
        better = np.flatnonzero(each.max(axis=0) > share)
        share[better] = each[k[better], better]
        best[better] = np.column_stack([np.full(len(better), i), i + 1 + k[better]])
    nats = -count / 2 * np.log1p(-np.minimum(share, 1 - 1e-9))
    by_chance = np.log(n * n * (n - 1) / 2) + SURE
    return BestPairs(best, np.where(nats > by_chance, nats * len(x) / len(rows), 0.0))
