"""Levenberg–Marquardt against an outside solver."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import least_squares

from ucad.solvers.regression.least_squares import (
    ArrowEquations,
    NormalEquations,
    levenberg_marquardt,
)

T = np.linspace(0, 3, 60)


@dataclass
class Exponential:
    """Σ (y − a exp(−b t) − c)², a curve with three weights."""

    y: np.ndarray
    tolerance: float = 1e-14
    per_square: float = 1.0

    def residual(self, weights):
        a, b, c = weights
        return self.y - a * np.exp(-b * T) - c

    def at(self, weights):
        residual = self.residual(weights)
        return float(residual @ residual) / len(T), residual

    def normal_equations(self, weights, state):
        a, b, _ = weights
        J = np.stack([np.exp(-b * T), -a * T * np.exp(-b * T), np.ones(len(T))], axis=1)
        return NormalEquations(J.T @ J / len(T), J.T @ state / len(T))

    def is_done(self, before, after):
        return before - after < self.tolerance * max(after, 1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_it_ends_where_scipy_ends(seed):
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.5, 2.0, 3)
    objective = Exponential(truth[0] * np.exp(-truth[1] * T) + truth[2])
    objective.y += 0.05 * rng.standard_normal(len(T))
    start = np.ones(3)
    found = levenberg_marquardt(objective, start, n_steps=200, damping=1e-2)
    expected = least_squares(objective.residual, start, xtol=1e-14, ftol=1e-14).x
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_a_loose_tolerance_stops_short_of_it():
    noise = 0.3 * np.random.default_rng(0).standard_normal(len(T))
    objective = Exponential(2 * np.exp(-1.5 * T) + 0.3 + noise)
    exact = levenberg_marquardt(objective, np.ones(3), n_steps=200, damping=1e-2)
    objective.tolerance = 0.9
    rough = levenberg_marquardt(objective, np.ones(3), n_steps=200, damping=1e-2)
    assert objective.at(exact)[0] < objective.at(rough)[0]


def test_no_step_is_taken_that_does_not_help():
    objective = Exponential(2 * np.exp(-1.5 * T) + 0.3)
    far = np.array([9.0, -2.0, 5.0])
    ends = [levenberg_marquardt(objective, far, n_steps=n, damping=1.0) for n in range(12)]
    losses = [objective.at(end)[0] for end in ends]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


def test_eliminating_groups_gives_the_step_of_the_whole_matrix():
    rng = np.random.default_rng(0)
    J = rng.standard_normal((200, 11))
    J[:100, 4:7] = 0.0
    J[100:, 7:] = 0.0
    gram, slope = J.T @ J, J.T @ rng.standard_normal(200)
    first, groups = slice(0, 4), (slice(4, 7), slice(7, 11))
    arrow = ArrowEquations(
        gram[first, first],
        [gram[first, one] for one in groups],
        [gram[one, one] for one in groups],
        slope,
    )
    np.testing.assert_allclose(arrow.step(0.3), NormalEquations(gram, slope).step(0.3))


def test_a_singular_matrix_without_a_cholesky_factor_is_solved_all_the_same():
    gram = np.diag([1.0, -1e-3])
    np.testing.assert_allclose(NormalEquations(gram, np.ones(2)).step(0.0), [1.0, -1e3])
