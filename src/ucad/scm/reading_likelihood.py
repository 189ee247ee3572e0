"""How likely noisy readings are: their own law, in which every reading tells of the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ucad._types import VariableSamples, WhichIntervened
from ucad.scm.factor_scm import FactorSCM
from ucad.scm.measurement import own_variance, weights_of

__all__ = ["reading_log_likelihood"]

MIN_SHARE = 1e-3
"""Share of the variance of a clamped variable's readings that is the variable's at the least."""


class _Law(NamedTuple):
    """x = c + B z + u, z = A x, y = x + e: u and e independent, of variance Ψ and D."""

    A: Float[np.ndarray, "factors variables"]
    B: Float[np.ndarray, "variables factors"]
    c: Float[np.ndarray, " variables"]
    own: Float[np.ndarray, " variables"]
    noise: Float[np.ndarray, " variables"]

    def log_density(self, y: VariableSamples) -> Float[np.ndarray, " samples"]:
        """Gives log N(y; μ, S) with S = Ψ + D + U C Uᵀ of rank 2m. O(n m² + N n m).

        x = (I + P A)(c + u) with P = B (I − A B)⁻¹, so U = [P, Ψ Aᵀ] and C = [[A Ψ Aᵀ, I], [I, 0]].
        """
        A, own, m = self.A, self.own, len(self.A)
        P = self.B @ np.linalg.inv(np.eye(m) - A @ self.B)
        U = np.hstack([P, (A * own).T])
        inner = np.block([[np.zeros((m, m)), np.eye(m)], [np.eye(m), -(A * own) @ A.T]])
        diagonal = own + self.noise
        inner = inner + (U.T / diagonal) @ U
        e = y - (self.c + P @ (A @ self.c))
        through = (e / diagonal) @ U
        square = (e**2 / diagonal).sum(axis=1)
        square -= (through * np.linalg.solve(inner, through.T).T).sum(axis=1)
        log_det = np.log(diagonal).sum() + np.linalg.slogdet(inner)[1]
        found: Float[np.ndarray, " samples"] = -0.5 * (
            square + log_det + y.shape[1] * np.log(2 * np.pi)
        )
        return found


def reading_log_likelihood(
    scm: FactorSCM, y: VariableSamples, is_intervened: WhichIntervened
) -> Float[np.ndarray, " samples"]:
    """Gives log p(y_free | y_clamped) of every sample, as readings with noise have it.

    Σ log N(y_X; F_X(τ(y)), σ²) would take readings for the variables: siblings of a noisily read
    variable then predict better than its causes do, so that it prefers wrong graphs. Here factors
    are hidden. A clamped variable has the mean and the variance that its readings have. Without
    reading noise it is the model's `log_likelihood`.

    Args:
        scm: a model, linear if it has reading noise.
        y: the readings, in the units of the model.
        is_intervened: what was clamped.
    """
    if scm.reading_noise is None:
        return np.asarray(scm.log_likelihood(y, is_intervened).detach().cpu().numpy())
    A, B = (weight.detach().cpu().numpy() for weight in weights_of(scm))
    origin = scm.state_map(np.zeros((1, y.shape[1])))
    constant = scm.expected_variables(origin)[0].detach().cpu().numpy()
    noise = (scm.reading_noise**2).cpu().numpy()
    law = _Law(A, B, constant, own_variance(scm).detach().cpu().numpy(), noise)
    found = np.zeros(len(y))
    patterns, member = np.unique(is_intervened, axis=0, return_inverse=True)
    for number, clamped in enumerate(patterns):
        rows = member.reshape(-1) == number
        found[rows] = _given_clamped(law, y[rows], np.flatnonzero(clamped))
    return found


def _given_clamped(
    law: _Law, y: VariableSamples, clamped: np.ndarray
) -> Float[np.ndarray, " samples"]:
    if not len(clamped):
        return law.log_density(y)
    B, c, own = law.B.copy(), law.c.copy(), law.own.copy()
    seen = y[:, clamped]
    total = np.maximum(seen.var(axis=0), law.noise[clamped] / (1 - MIN_SHARE))
    B[clamped], c[clamped], own[clamped] = 0.0, seen.mean(axis=0), total - law.noise[clamped]
    alone = -0.5 * ((seen - seen.mean(axis=0)) ** 2 / total + np.log(2 * np.pi * total)).sum(axis=1)
    found: Float[np.ndarray, " samples"] = law._replace(B=B, c=c, own=own).log_density(y) - alone
    return found
