"""Worlds and systems that several tests look at, and how factors fit what they read."""

import numpy as np

from ucad.graph import FactorGraph
from ucad.simulate.worlds import world_problem
from ucad.simulate.worlds.linear import linear_model
from ucad.simulate.worlds.system import gaussian_noise


def chain_model(seed=0):
    """X1, X2 → Z1 → X3, X4; X3 → Z2 → X5."""
    Q = np.array([[1, 0], [1, 0], [0, 1], [0, 0], [0, 0]], dtype=bool)
    R = np.array([[0, 0], [0, 0], [1, 0], [1, 0], [0, 1]], dtype=bool)
    return linear_model(FactorGraph(Q, R), (0.5, 0.9), np.random.default_rng(seed))


SEED = 21


def world(name, **settings):
    return world_problem(name, SEED, **settings)


def free_rows(problem):
    """Training samples in which nothing is acted on, in the units of the world."""
    data = problem.train.unstandardised()
    return data.x[data.regime == 0]


def r_squared(y, inputs):
    A = np.column_stack([inputs, np.ones(len(inputs))])
    return 1 - (y - A @ np.linalg.lstsq(A, y, rcond=None)[0]).var() / y.var()


def child_residuals(problem):
    """What its own true factors leave of every variable in the test samples, linearly."""
    left = problem.test.x.copy()
    for j, parents in enumerate(problem.graph.R):
        A = np.column_stack([problem.factors[:, parents], np.ones(len(left))])
        left[:, j] -= A @ np.linalg.lstsq(A, left[:, j], rcond=None)[0]
    return left


def factor_fit(problem):
    """R² of the true factors on their parents, linearly, one per factor."""
    Q = problem.graph.Q
    return np.array(
        [r_squared(z, problem.test.x[:, Q[:, k]]) for k, z in enumerate(problem.factors.T)]
    )


def target_values(problem):
    """Per regime with one target: its values, in standard deviations of the world."""
    data = problem.train.unstandardised()
    return [data.x[data.is_intervened[:, v], v] for v in np.flatnonzero(data.targets.any(axis=0))]


def standard_normal(n_samples, n_variables, seed=0):
    return gaussian_noise(np.ones(n_variables))(n_samples, np.random.default_rng(seed))
