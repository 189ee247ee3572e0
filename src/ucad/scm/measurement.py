"""Readings with noise: what the variables and factors behind them are, with an error.

A reading is y = x + e with e ~ N(0, D), D diagonal and known. τ of a reading then is an estimate,
and the children of a factor tell as much of it as its parents do.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from ucad.errors import InvalidInputError
from ucad.scm.factor_scm import Covariates, FactorSCM, Matrix
from ucad.scm.families import LinearMechanism

__all__ = ["EstimatedState", "denoised", "estimated_state", "own_variance", "weights_of"]

MIN_OWN = 0.05
"""The share of what factors leave of a reading that is the variable's own at the least: a variance
of zero would make its reading pure noise, whatever it says."""


class EstimatedState(NamedTuple):
    """The factors behind readings.

    Attributes:
        z: E[τ(x) | y], one row per reading.
        error: the standard deviation of τ(x) given y, one per factor.
    """

    z: Float[Tensor, "samples factors"]
    error: Float[Tensor, " factors"]


class _Readings(NamedTuple):
    """Mean and covariance of readings, and the noise in them."""

    mean: Float[Tensor, " variables"]
    covariance: Float[Tensor, "variables variables"]
    noise: Float[Tensor, " variables"]


def denoised(
    scm: FactorSCM, y: Matrix, covariates: Covariates | None = None
) -> Float[Tensor, "samples variables"]:
    """E[x | y] = y − D S⁻¹ (y − μ), with the mean μ and covariance S of readings by the model.

    The readings themselves where the model has no reading noise. What covariates add to readings
    is taken off first. O(n³ + N n²).
    """
    y = scm.without_context(y, covariates)
    if scm.reading_noise is None:
        return y
    mean, covariance, noise = _readings(scm)
    shrunk: Float[Tensor, "samples variables"] = y - (
        torch.linalg.solve(covariance, (y - mean).T).T * noise
    )
    return shrunk


def estimated_state(
    scm: FactorSCM, y: Matrix, covariates: Covariates | None = None
) -> EstimatedState:
    """E[τ(x) | y] = A E[x | y] + a, and its error √diag(A (D − D S⁻¹ D) Aᵀ).

    Exact for Gaussian variables and noise, the best linear estimate for others. Without reading
    noise it is τ(y), without error. Every reading is taken for an observational one.
    """
    z = scm.state_map(denoised(scm, y, covariates))
    if scm.reading_noise is None:
        return EstimatedState(z, z.new_zeros(z.shape[1]))
    _, covariance, noise = _readings(scm)
    A = weights_of(scm)[0] * noise
    variance = (A @ weights_of(scm)[0].T).diagonal()
    known = (A @ torch.linalg.solve(covariance, A.T)).diagonal()
    return EstimatedState(z, (variance - known).clamp_min(0.0).sqrt())


def weights_of(scm: FactorSCM) -> tuple[Tensor, Tensor]:
    """A of F_Z and B of F_X; refused where they are not linear."""
    F_Z, F_X = scm.factor_mechanism, scm.variable_mechanism
    if not (isinstance(F_Z, LinearMechanism) and isinstance(F_X, LinearMechanism)):
        raise InvalidInputError(
            "Readings with noise are only understood by models with linear mechanisms. Fit with "
            "factor_mechanism='linear' and variable_mechanism='linear'."
        )
    return F_Z.weight, F_X.weight


def own_variance(scm: FactorSCM) -> Float[Tensor, " variables"]:
    """Ψ, the variance of every variable's own noise.

    `noise_scale²` is what F_X(τ(y)) leaves of a reading: the variable's own variance Ψ, the noise
    D of its reading, and what F_X passes on from the readings of the parents, diag(B A D Aᵀ Bᵀ).
    """
    assert scm.reading_noise is not None
    A, B = weights_of(scm)
    noise, left = scm.reading_noise**2, scm.noise_scale**2
    own: Float[Tensor, " variables"] = torch.maximum(
        left - noise - (B @ A) ** 2 @ noise, MIN_OWN * left
    )
    return own


def _readings(scm: FactorSCM) -> _Readings:
    """μ = (I − B A)⁻¹ (B a + b) and S = (I − B A)⁻¹ Ψ (I − B A)⁻ᵀ + D."""
    assert scm.reading_noise is not None
    A, B = weights_of(scm)
    noise, own = scm.reading_noise**2, own_variance(scm)
    inverse = torch.linalg.inv(torch.eye(len(noise)).to(noise) - B @ A)
    mean = inverse @ scm.expected_variables(scm.state_map(noise.new_zeros(1, len(noise))))[0]
    return _Readings(mean, (inverse * own) @ inverse.T + noise.diag(), noise)
