"""Linear regressions of many variables on the same columns, from shared second moments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int

from ucad._types import VariableSamples
from ucad.data.moments import RowsByVariable, product
from ucad.scm.families import Affine

__all__ = ["WELL_CONDITIONED", "affine_fits"]

WELL_CONDITIONED = 1e-8
"""Ratio of eigenvalues above which normal equations lose no more than eight of sixteen digits."""


def affine_fits(
    z: Float[np.ndarray, "samples columns"],
    x: VariableSamples,
    left_out: RowsByVariable,
    variables: Sequence[int],
    parents: Sequence[Int[np.ndarray, " ..."]],
) -> Iterator[tuple[Affine, float] | None]:
    """Each variable as an affine function of its own columns of z, and its mean squared error.

    The moments over all samples are computed once for all, less those that a variable leaves out:
    O(N m (m + v)) for v variables, and O(p³) each. None where columns are nearly collinear.
    """
    design = np.column_stack([z, np.ones(len(z))]).astype(np.float64, copy=False)
    y = x[:, list(variables)]
    gram, cross = design.T @ design, product(design, y)
    square = np.einsum("sj,sj->j", y, y, dtype=np.float64)
    for at, (j, columns) in enumerate(zip(variables, parents, strict=True)):
        some, rows = np.append(columns, z.shape[1]), left_out[j]
        out, y_out = design[rows[:, None], some], y[rows, at].astype(np.float64)
        G, g = gram[np.ix_(some, some)] - out.T @ out, cross[some, at] - out.T @ y_out
        values = np.linalg.eigvalsh(G)
        if values[0] <= WELL_CONDITIONED * values[-1]:
            yield None
            continue
        w = np.linalg.solve(G, g)
        left = square[at] - float(y_out @ y_out) - float((2 * g - G @ w) @ w)
        count = max(int(left_out.n_free[j]), 1)
        yield Affine(columns, w[:-1], float(w[-1])), max(left / count, 0.0)
