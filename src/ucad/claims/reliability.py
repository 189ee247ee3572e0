"""Is a factor a function of what was measured, or does it have noise that its children share?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float

from ucad.claims.samples import Rows, TestSamples

__all__ = ["MAX_NOISE", "FactorNoise", "factor_noise"]

MAX_NOISE = 0.11
"""φ up to which values count as known: τ(x) then correlates with the true factor by
1 / √(1 + φ) = .95 or more."""

STEP = 0.5
"""Standard deviations of a factor over which the slopes of its children are taken: wide enough for
a network that is bent here and there, narrow enough to follow a parabola."""

STANDARD_ERRORS = 2.0
"""How far the true φ may lie above its estimate."""

SIGNIFICANT = 4.0
"""Standard errors that φ must exceed to count as seen: it refutes the model."""

MAX_ROWS = 4000
"""Samples looked at: φ is known to about .01 then, for children half of which is noise."""


class FactorNoise(NamedTuple):
    """The noise of a factor, in units of its variance.

    Attributes:
        value: the estimate φ; 0 where it cannot be estimated.
        error: its standard error; infinite where no two children show the factor.
    """

    value: float
    error: float

    @property
    def is_small(self) -> bool:
        """Whether φ is at most `MAX_NOISE`, with its error."""
        return self.value + STANDARD_ERRORS * self.error <= MAX_NOISE

    @property
    def is_there(self) -> bool:
        """Whether φ is larger than can be ignored, even with its error, and no accident."""
        is_large = self.value - STANDARD_ERRORS * self.error > MAX_NOISE
        return is_large and self.value > SIGNIFICANT * self.error


def factor_noise(samples: TestSamples, k: int) -> FactorNoise:
    """φ_k = Var δ / Var z_k, if the true factor is τ(x)_k + δ with δ independent of x.

    δ moves all children of k at once: e_i = D_i δ + noise of its own, with the slopes
    D_i = ∂F_X,i/∂z_k. With s = Σ_{i<j} D_i D_j e_i e_j and q = Σ_{i<j} (D_i D_j)² of every unseen
    sample, over the free children, φ = Σ s / Σ q. Parents that were read with noise show like this,
    too: τ is then made from readings, and the true factor from what they are readings of. A factor
    of one child can have any φ. O(samples · children).
    """
    children = np.flatnonzero(samples.graph.R[:, k])
    rows = np.concatenate([fold.test for fold in samples.folds])[:MAX_ROWS]
    if len(children) < 2 or len(rows) == 0 or not np.isfinite(samples.z_sd[k]):
        return FactorNoise(0.0, np.inf)
    D = _slopes(samples, k, children, rows)
    free = ~samples.is_intervened[np.ix_(rows, children)]
    e = samples.residual[np.ix_(rows, children)]
    e = (e - (e * free).sum(axis=0) / np.maximum(free.sum(axis=0), 1)) * free
    D = D * free
    with np.errstate(over="ignore", invalid="ignore"):
        s, q = _over_pairs(D * e), _over_pairs(D**2)
        total, size = float(q.sum()), float((q**2).sum() + (s**2).sum())
    if total <= 1e-12 * len(rows) or not np.isfinite(size):  # no slopes, or beyond all numbers
        return FactorNoise(0.0, np.inf)
    value = float(s.sum()) / total
    return FactorNoise(value, float(np.sqrt(((s - value * q) ** 2).sum())) / total)


def _over_pairs(values: Float[np.ndarray, "rows some"]) -> Float[np.ndarray, " rows"]:
    """Σ_{i<j} v_i v_j of every row."""
    return np.asarray((values.sum(axis=1) ** 2 - (values**2).sum(axis=1)) / 2)


def _slopes(
    samples: TestSamples, k: int, children: Rows, rows: Rows
) -> Float[np.ndarray, "rows children"]:
    """∂F_X/∂z_k at every sample by central differences, in standard deviations of both."""
    scm = samples.scm
    z = scm.tensor(samples.original_factors(rows))
    targets = torch.from_numpy(children).to(z.device)
    sides = []
    for sign in (1.0, -1.0):
        moved = z.clone()
        moved[:, k] += sign * STEP * float(samples.z_sd[k])
        sides.append(scm.variable_mechanism(moved, targets).detach().cpu().numpy())
    return np.asarray((sides[0] - sides[1]) / (2 * STEP * samples.sd[children]))
