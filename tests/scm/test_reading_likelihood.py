"""The likelihood of noisy readings is that of one big Gaussian."""

from __future__ import annotations

import numpy as np
import torch
from scipy.stats import multivariate_normal

from ucad.graph import FactorGraph
from ucad.scm import FactorSCM, LinearMechanism
from ucad.scm.reading_likelihood import reading_log_likelihood

RNG = np.random.default_rng(0)
Q = np.array([[1, 0], [1, 0], [0, 1], [0, 0], [0, 0]], dtype=bool)
R = np.array([[0, 0], [0, 0], [1, 0], [1, 1], [0, 1]], dtype=bool)
A = np.where(Q, RNG.normal(size=Q.shape), 0.0).T
B = np.where(R, RNG.normal(size=R.shape), 0.0)
a, b = RNG.normal(size=2), RNG.normal(size=5)
OWN, NOISE = RNG.uniform(0.5, 1, size=5), RNG.uniform(0.2, 0.6, size=5)


def _scm(noise: np.ndarray | None = NOISE) -> FactorSCM:
    left = OWN if noise is None else OWN + noise + (B @ A) ** 2 @ noise
    return FactorSCM(
        FactorGraph(Q, R),
        LinearMechanism(torch.tensor(A), torch.tensor(a)),
        LinearMechanism(torch.tensor(B), torch.tensor(b)),
        torch.tensor(np.sqrt(left)),
        reading_noise=None if noise is None else torch.tensor(np.sqrt(noise)),
    )


def _law(c: np.ndarray, through: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    inverse = np.linalg.inv(np.eye(5) - through)
    return inverse @ c, (inverse * own) @ inverse.T + np.diag(NOISE)


def test_free_readings_are_one_gaussian():
    y = RNG.normal(size=(7, 5))
    mean, covariance = _law(B @ a + b, B @ A, OWN)
    found = reading_log_likelihood(_scm(), y, np.zeros(y.shape, dtype=bool))
    np.testing.assert_allclose(found, multivariate_normal(mean, covariance).logpdf(y))


def test_a_clamped_reading_is_conditioned_on():
    y = RNG.normal(size=(7, 5))
    clamped = np.zeros(y.shape, dtype=bool)
    clamped[2:, 2] = True
    c, through, own = B @ a + b, B @ A, OWN.copy()
    c[2], through[2], own[2] = y[2:, 2].mean(), 0.0, y[2:, 2].var() - NOISE[2]
    mean, covariance = _law(c, through, own)
    alone = multivariate_normal(mean[2], covariance[2, 2]).logpdf(y[2:, 2])
    found = reading_log_likelihood(_scm(), y, clamped)
    np.testing.assert_allclose(
        found[2:], multivariate_normal(mean, covariance).logpdf(y[2:]) - alone
    )


def test_without_reading_noise_it_is_the_likelihood_of_the_model():
    y, clamped = RNG.normal(size=(7, 5)), RNG.random((7, 5)) < 0.3
    scm = _scm(None)
    np.testing.assert_allclose(
        reading_log_likelihood(scm, y, clamped), scm.log_likelihood(y, clamped).numpy()
    )
