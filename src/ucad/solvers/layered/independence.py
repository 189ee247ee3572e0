"""Axes by independence: what singles out factors where every unit reads and makes all of them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

__all__ = ["excess_kurtosis", "independent_axes"]

N_STARTS = 32
"""Random starts of the descent for each axis: several for each of the few factors of a pair, since
the kurtosis can have a local minimum for each of them. A guess that was not tuned."""

N_STEPS = 200
"""Steps of each descent; the largest turn shrinks to 0 along them. A guess that was not tuned."""

STEP_SIZE = 0.2
"""Multiplies the gradient of E y⁴ (of whitened factors, without a unit) in each step."""

MAX_TURN = 0.5
"""The largest turn of a direction in the first step, in radians. Gradients of heavy-tailed
directions are huge, and without a bound they leap over the minimum."""

RANK_TOLERANCE = 1e-12
"""Variances below this share of the largest (no unit) are raised to it, so that factors that are
nearly equal can be whitened: the square of single precision."""

MAX_SAMPLES = 10_000
"""Samples that the descent looks at: the fourth moment of a coin is then known to a hundredth."""


def excess_kurtosis(y: Float[np.ndarray, "samples factors"]) -> Float[np.ndarray, " factors"]:
    """Returns E y⁴ / (E y²)² − 3 of centred columns: −2 for a fair coin, 0 for a Gaussian.

    A constant column has 0, too.

    >>> excess_kurtosis(np.array([[1.0], [-1.0], [1.0], [-1.0]]))
    array([-2.])
    """
    y = y - y.mean(axis=0)
    square = (y**2).mean(axis=0) ** 2
    return (
        np.divide((y**4).mean(axis=0), square, out=np.full_like(square, 3.0), where=square > 0) - 3
    )


def independent_axes(
    z: Float[np.ndarray, "samples factors"], *, seed: int = 0
) -> Float[np.ndarray, "axes factors"]:
    """Returns U for which U z is uncorrelated, of variance 1, and the most two-valued axis first.

    v₁ = argmin_{‖v‖ = 1} E (v · w)⁴ with w the whitened z; v₂ the same among directions orthogonal
    to v₁, and so on. By the inequality of cumulants, a sum of independent parts has a kurtosis
    between those of its parts, so that an extreme belongs to one part alone. A mixture of two
    values is the lowest there is, and a decision of a network is a mixture of two values.

    O(samples · factors) for each start and step, on at most 10,000 samples.

    >>> rng = np.random.default_rng(0)
    >>> sources = np.c_[rng.choice([-1.0, 1.0], 5000), rng.normal(size=5000)]
    >>> z = sources @ np.array([[1.0, 0.5], [0.7, -1.0]])
    >>> bool(excess_kurtosis(z @ independent_axes(z).T)[0] < -1.95)
    True
    """
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(z.T, bias=True)))
    values = np.maximum(values, values.max() * RANK_TOLERANCE) if values.max() > 0 else values + 1
    whitening = (vectors / np.sqrt(values)).T
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(z))[:MAX_SAMPLES]
    whitened = (z[rows] - z.mean(axis=0)) @ whitening.T
    left, found = np.eye(z.shape[1]), []
    while left.shape[1]:
        axis = left @ _least_kurtosis(whitened @ left, rng)
        found.append(axis)
        left = np.linalg.svd(left - np.outer(axis, axis @ left))[0][:, : left.shape[1] - 1]
    return np.array(found) @ whitening


def _least_kurtosis(
    w: Float[np.ndarray, "samples directions"], rng: np.random.Generator
) -> Float[np.ndarray, " directions"]:
    """Projected gradient descent on the sphere from many starts; the best end wins."""
    v = rng.normal(size=(N_STARTS, w.shape[1]))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    for step in range(N_STEPS if w.shape[1] > 1 else 0):
        y = w @ v.T
        gradient = (y * y * y).T @ w / len(w)  # numpy's ** 3 is thirty times slower
        gradient -= (gradient * v).sum(axis=1, keepdims=True) * v
        # Steps that do not get shorter leap over the minimum for ever, see MAX_TURN.
        length = np.linalg.norm(gradient, axis=1, keepdims=True)
        limit = MAX_TURN * (1 - step / N_STEPS)
        v = v - gradient * np.minimum(STEP_SIZE, limit / np.maximum(length, 1e-300))
        v /= np.linalg.norm(v, axis=1, keepdims=True)
    return v[np.square(np.square(w @ v.T)).mean(axis=0).argmin()]
