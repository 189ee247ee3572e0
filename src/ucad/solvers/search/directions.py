"""Linear factors inside the span of the gradients of a nonlinear variable."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from ucad.solvers.search.functions import Function

__all__ = ["SPARSE", "leading_direction", "sparse_directions"]

ALIKE = 0.95
SPARSE = 0.05
N_SPARSE = 3


def leading_direction(
    gradient: Float[np.ndarray, "samples inputs"], parents: Int[np.ndarray, " inputs"]
) -> Function:
    """The linear function along which a function with this gradient changes most."""
    _, vectors = np.linalg.eigh(gradient.T @ gradient / len(gradient))
    return Function(parents, None, None, vectors[:, -1], 0.0)


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
    zeros = (size < SPARSE * size.max(axis=1, keepdims=True)).sum(axis=1)
    seen: list[Float[np.ndarray, " inputs"]] = []
    for direction in directions[np.argsort(-zeros, kind="stable")]:
        if all(abs(direction @ old) < ALIKE for old in seen):
            seen.append(direction)
            yield direction
        if len(seen) == N_SPARSE:
            return
