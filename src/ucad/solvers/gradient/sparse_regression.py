"""Sparse regressions of many targets at once, from second moments alone."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ucad.scm import VARIANCE_FLOOR

__all__ = ["SparseRegressions", "sparse_regressions"]


class SparseRegressions(NamedTuple):
    """Every variable regressed on a few others.

    Attributes:
        coefficients: zero where a feature was not taken; a row is a target.
        variance: what is left unexplained.
    """

    coefficients: Float[Tensor, "targets features"]
    variance: Float[Tensor, " targets"]


def sparse_regressions(
    moments: Float[Tensor, "targets ones ones"],
    target: Int[Tensor, " targets"],
    allowed: Bool[Tensor, "targets features"],
    max_features: int,
    min_gain: float,
) -> SparseRegressions:
    """Regresses each target on a few features, greedily, all targets at once.

    Forward selection on second moments of (features, 1), which include the target itself: take the
    feature that lowers the residual variance most, as long as the log-likelihood per sample rises
    by `min_gain`; then sweep it out of the moments (a step of Gauss-Jordan).

    Cost: O(targets · features²) a feature taken.
    """
    everyone = torch.arange(len(moments), device=moments.device)
    work = _centred(moments)
    chosen = torch.zeros_like(allowed)
    for _ in range(max_features):
        spread = work.diagonal(dim1=1, dim2=2)
        usable = allowed & ~chosen & (spread > VARIANCE_FLOOR)
        gain = work[everyone, target].square() / spread.clamp_min(VARIANCE_FLOOR)
        most, feature = gain.masked_fill(~usable, 0).max(dim=1)
        now = spread[everyone, target].clamp_min(0)
        left = (now - most).clamp_min(0)
        takes = 0.5 * ((now + VARIANCE_FLOOR) / (left + VARIANCE_FLOOR)).log() > min_gain
        if not bool(takes.any()):
            break
        chosen[everyone[takes], feature[takes]] = True
        column = work[everyone, :, feature]
        pivot = column[everyone, feature].masked_fill(~takes, torch.inf)
        work = work - column[:, :, None] * column[:, None, :] / pivot[:, None, None]
    coefficients = _least_squares(_centred(moments), target, chosen)
    return SparseRegressions(coefficients, work[everyone, target, target].clamp_min(0))


def _centred(moments: Float[Tensor, "targets ones ones"]) -> Float[Tensor, "targets f f"]:
    """The covariances: moments of (features, 1) with the constant swept out."""
    mean = moments[:, :-1, -1]
    return moments[:, :-1, :-1] - mean[:, :, None] * mean[:, None, :]


def _least_squares(
    covariance: Float[Tensor, "targets f f"],
    target: Int[Tensor, " targets"],
    chosen: Bool[Tensor, "targets f"],
) -> Float[Tensor, "targets f"]:
    both = (chosen[:, :, None] & chosen[:, None, :]).to(covariance)
    system = covariance * both + torch.diag_embed((~chosen).to(covariance) + 1e-9)
    everyone = torch.arange(len(covariance), device=covariance.device)
    solved: Tensor = torch.linalg.solve(system, covariance[everyone, target] * chosen)
    return solved
