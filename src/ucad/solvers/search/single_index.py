"""Linear factors of nonlinear variables: directions in gradients, and x_j = g(a·x) fitted whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ucad.data import InterventionalData
from ucad.scm.families import Affine, Function
from ucad.solvers.regression.fitting import Fitter, Regression
from ucad.solvers.regression.joint import fit_together

__all__ = [
    "NEGLIGIBLE",
    "SingleIndex",
    "fit_along",
    "leading_direction",
    "sparse_directions",
]

ALIKE = 0.95
"""Cosine above which two directions count as one."""

NEGLIGIBLE = 0.05
"""A weight below this share of the largest counts as none: gradients carry noise of some 2 %."""

N_SPARSE = 3
"""Directions proposed of a plane: a variable of two factors has two right ones."""


def leading_direction(
    gradient: Float[np.ndarray, "samples inputs"], parents: Int[np.ndarray, " inputs"]
) -> Affine:
    """The linear function along which a function with this gradient changes most."""
    _, vectors = np.linalg.eigh((gradient.T @ gradient / len(gradient)).astype(np.float64))
    return Affine(parents, vectors[:, -1], 0.0)


def sparse_directions(
    span: Float[np.ndarray, "inputs dimensions"],
) -> Iterator[Float[np.ndarray, " inputs"]]:
    """The leading direction and, in a plane, the sparsest of those that vanish on an input."""
    yield span[:, 0]
    if span.shape[1] < 2:
        return
    directions = np.stack([span[:, 0] * row[1] - span[:, 1] * row[0] for row in span])
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-12)
    size = np.abs(directions)
    zeros = (size < NEGLIGIBLE * size.max(axis=1, keepdims=True)).sum(axis=1)
    seen: list[Float[np.ndarray, " inputs"]] = []
    for direction in directions[np.argsort(-zeros, kind="stable")]:
        if all(abs(direction @ old) < ALIKE for old in seen):
            seen.append(direction)
            yield direction
        if len(seen) == N_SPARSE:
            return


@dataclass(frozen=True, eq=False)
class SingleIndex:
    """A factor z = a·x of unit variance, the function g of it that x_j is, and what is left."""

    factor: Function
    function: Function
    error: float


def fit_along(
    data: InterventionalData, j: int, start: Function, regression: Regression, fitter: Fitter
) -> SingleIndex:
    """Fits a and g of x_j = g(a·x) together, with the parents of a start."""
    z = start.values(data.x)[:, None]
    g = fitter.fit(z, np.array([0]), regression)
    factor, (g,) = fit_together(data, z, 0, [start, g], np.array([j]), fitter)
    return SingleIndex(factor, g, regression.error(g, factor.values(data.x)[:, None]))
