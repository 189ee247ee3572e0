"""Parents that another variable could stand for: the two go together wherever it would matter."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float, Int

from ucad._types import VariablesByFactors
from ucad.data import InterventionalData

__all__ = ["MAX_LEFT", "equal_parents"]

MAX_LEFT = 1e-3
"""The share of a variable's variance that a multiple of its copy may leave: what is worth less than
that is not modelled without noise either, and with noise of 3 % of a spread it is exceeded."""

Allowed = Callable[[VariablesByFactors, VariablesByFactors], bool]
"""Whether a graph, given by Q and R, is one that may be."""


def equal_parents(
    Q: VariablesByFactors, R: VariablesByFactors, data: InterventionalData, allows: Allowed
) -> Iterator[tuple[int, int, list[int]]]:
    """Parents i of factors k, with the variables that are multiples of i wherever z_k is read.

    z_k is read in the samples in which one of its children is free. If x_i = a + b x_c there but
    for 0.1 % of the variance, c is as good a parent as i, whatever the mechanisms are, and no data
    of this kind tell them apart. O(variables · samples that leave all children of k out) per edge.
    """
    moments = data.moments
    for k in np.flatnonzero(Q.any(axis=0) & R.any(axis=0)).tolist():
        unread = np.flatnonzero(data.is_left_out[:, R[:, k]].all(axis=1))
        n_read, taken = data.n_samples - len(unread), data.x[unread].astype(np.float64)
        mean = (moments.sums - taken.sum(axis=0)) / max(n_read, 1)
        square = np.diagonal(moments.total) - (taken**2).sum(axis=0) - n_read * mean**2
        for i in np.flatnonzero(Q[:, k]).tolist():
            cross = moments.total[i] - taken[:, i] @ taken - n_read * mean[i] * mean
            alike = _alike(cross, square, i)
            copies = [c for c in alike[~Q[alike, k]].tolist() if allows(_swapped(Q, i, c, k), R)]
            if copies:
                yield i, k, copies


def _alike(
    cross: Float[np.ndarray, " variables"], square: Float[np.ndarray, " variables"], i: int
) -> Int[np.ndarray, " some"]:
    varies = np.minimum(square, square[i]) > np.finfo(np.float32).eps * square.max(initial=0.0)
    size = np.where(varies, square * square[i], 1.0)
    return np.flatnonzero(varies & (1 - cross**2 / size < MAX_LEFT))


def _swapped(Q: VariablesByFactors, i: int, c: int, k: int) -> VariablesByFactors:
    swapped = Q.copy()
    swapped[[i, c], k] = False, True
    return swapped
