"""The bound on the abstraction error that Lipschitz mechanisms give."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from ucad.data import InterventionalData
from ucad.scm.factor_scm import VARIANCE_FLOOR, FactorSCM

__all__ = ["ErrorBound", "Propagation", "error_bound", "propagation", "propagation_matrices"]


class ErrorBound(NamedTuple):
    """Three upper bounds on Δ̂, each looser than the one before.

    Attributes:
        matrix: ‖Σ_k (MN)^k M R‖₁, with the residuals R of every variable.
        norm: ‖M‖₁ Σ_k ‖MN‖₁^k · ‖R‖₁.
        score: the same with ‖R‖₁ replaced by 2 σ²_max (−S − C₀), affine in the score S.
    """

    matrix: float
    norm: float
    score: float


def propagation_matrices(
    scm: FactorSCM,
) -> tuple[Float[Tensor, "factors variables"], Float[Tensor, "variables factors"]]:
    """M[Z, X] = 2 L_Z² 1{X ∈ Pa_Z} and N[X, Z] = ℓ_X² 1{Z ∈ Pa_X} of the proof."""
    Q, R = (torch.tensor(matrix).to(scm.noise_scale) for matrix in (scm.graph.Q, scm.graph.R))
    M = 2 * scm.factor_mechanism.lipschitz()[:, None] ** 2 * Q.T
    N = scm.variable_mechanism.lipschitz()[:, None] ** 2 * R
    return M, N


class Propagation(NamedTuple):
    """How residuals of variables grow into errors of factors, from the Lipschitz constants.

    Attributes:
        resolvent: Σ_{k<γ} (MN)^k M, factors × variables.
        amplification: ‖M‖₁ Σ_{k<γ} ‖MN‖₁^k.
    """

    resolvent: Float[Tensor, "factors variables"]
    amplification: float


def propagation(scm: FactorSCM) -> Propagation:
    """Sums over the paths of the factor graph; MN is nilpotent, so the sum ends."""
    M, N = propagation_matrices(scm)
    total, term = M.clone(), M
    for _ in range(scm.graph.n_factors - 1):
        term = M @ (N @ term)
        total = total + term
    steps = _geometric_sum(_column_norm(M @ N), scm.graph.n_factors)
    return Propagation(total, _column_norm(M) * steps)


def error_bound(
    scm: FactorSCM,
    data: InterventionalData,
    *,
    growth: Propagation | None = None,
    variance_floor: float = VARIANCE_FLOOR,
) -> ErrorBound:
    """Bounds Δ̂ by the Lipschitz constants, the graph and the residuals of the variables.

    D ≤ Σ_{k<γ} (MN)^k M R, where R_X = E[1{X not clamped} (x_X − F_X(τ(x)))²] over the variables
    with parents; a variable without parents is part of the shared context and has no residual. In
    the score all variables count, which only loosens the bound.

    Theorem "Approximate transformation bound".

    Args:
        scm: the model.
        data: samples in its units.
        growth: `propagation(scm)`, if it is already known.
        variance_floor: the smallest variance the score uses.
    """
    growth = growth or propagation(scm)
    x = scm.tensor(data.x)
    free = ~torch.tensor(data.is_intervened, device=x.device)
    squared = (x - scm.expected_variables(scm.state_map(x))) ** 2 * free
    residual = squared.mean(dim=0)
    has_parents = torch.from_numpy(scm.graph.R.any(axis=1)).to(x.device)
    variance = (scm.noise_scale**2).clamp_min(variance_floor)
    minus_score = float((squared / variance * 0.5).sum(dim=1).mean())  # −S − C₀
    return ErrorBound(
        matrix=float((growth.resolvent @ (residual * has_parents)).sum()),
        norm=growth.amplification * float((residual * has_parents).sum()),
        score=growth.amplification * 2 * float(variance.max()) * minus_score,
    )


def _column_norm(matrix: Tensor) -> float:
    """‖·‖₁, the largest absolute column sum."""
    return float(matrix.abs().sum(dim=0).max()) if matrix.numel() else 0.0


def _geometric_sum(ratio: float, n_terms: int) -> float:
    return math.fsum(ratio**k for k in range(n_terms))
