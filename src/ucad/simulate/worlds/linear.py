"""Linear models whose variables have variance 1, a chosen share of it from their factors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float

from ucad._types import FactorSamples, VariableSamples
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, LinearMechanism
from ucad.simulate.worlds.system import Context, DrawNoise, System, gaussian_noise

__all__ = ["LinearModel", "linear_model"]

WEIGHT_RANGE = (0.5, 1.5)
"""Weights are drawn uniformly between these and get a random sign: no parent of a factor has less
than a third of the weight of another, so that each of them matters."""


class LinearModel(NamedTuple):
    """z = W_Z x and x = W_X z + u, with variance 1 of all variables and factors.

    Attributes:
        graph: the f-DAG.
        W_Z: factors × variables.
        W_X: variables × factors.
        noise_scale: the standard deviation of u, one per variable.
    """

    graph: FactorGraph
    W_Z: Float[np.ndarray, "factors variables"]
    W_X: Float[np.ndarray, "variables factors"]
    noise_scale: Float[np.ndarray, " variables"]

    @property
    def scm(self) -> FactorSCM:
        """The same model as a `FactorSCM`."""
        return FactorSCM(
            self.graph, _mechanism(self.W_Z), _mechanism(self.W_X), _t(self.noise_scale)
        )

    def system(self, draw_noise: DrawNoise | None = None) -> System:
        """The same model as equations, with other noise if wanted."""

        def factors(x: VariableSamples, _u: Context) -> FactorSamples:
            return x @ self.W_Z.T

        def variables(_x: VariableSamples, z: FactorSamples, u: Context) -> VariableSamples:
            return z @ self.W_X.T + u[:, : len(self.W_X)]

        return System(factors, variables, draw_noise or gaussian_noise(self.noise_scale))


def linear_model(
    graph: FactorGraph, signal: tuple[float, float], rng: np.random.Generator
) -> LinearModel:
    """Draws weights and noise such that every variable and factor has variance 1.

    With L the loadings of the variables on n independent sources, x = L u: a root is a source; a
    factor has loadings ∝ Σ_i w_i L_i; a child with signal R² has loadings
    R · (Σ_k w_k L_k) / ‖Σ_k w_k L_k‖ + √(1 − R²) · its own source.

    Args:
        graph: the f-DAG.
        signal: the range of R², the share of a child's variance that comes from its factors.
        rng: makes all draws.
    """
    n_variables, n_factors = graph.n_variables, graph.n_factors
    R2 = np.where(graph.R.any(axis=1), rng.uniform(*signal, n_variables), 0.0)
    W_Z = _signed_weights(graph.Q.T, rng)
    W_X = _signed_weights(graph.R, rng)
    noise_scale = np.sqrt(1 - R2)
    L, L_Z = np.diag(noise_scale), np.zeros((n_factors, n_variables))
    for k in graph.factor_order:
        # All factors before k are done, so the variables that feed it have their final loadings.
        W_Z[k] /= np.linalg.norm(W_Z[k] @ L)
        L_Z[k] = W_Z[k] @ L
        ready = np.flatnonzero(graph.R[:, k])
        for j in ready[_all_done(graph, ready, L_Z)]:
            W_X[j] *= np.sqrt(R2[j]) / np.linalg.norm(W_X[j] @ L_Z)
            L[j] += W_X[j] @ L_Z
    return LinearModel(graph, W_Z, W_X, noise_scale)


def _all_done(graph: FactorGraph, variables: np.ndarray, L_Z: np.ndarray) -> np.ndarray:
    """Which of some variables have only factor parents whose loadings are known."""
    unknown = ~L_Z.any(axis=1)
    return ~(graph.R[variables] & unknown).any(axis=1)


def _signed_weights(mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(*WEIGHT_RANGE, mask.shape) * rng.choice([-1.0, 1.0], mask.shape) * mask


def _mechanism(weight: np.ndarray) -> LinearMechanism:
    return LinearMechanism(_t(weight), torch.zeros(len(weight), dtype=torch.float64))


def _t(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(values.astype(np.float64))
