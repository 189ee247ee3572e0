"""A small problem on which pieces of the search are tried: two factors among eight variables."""

import numpy as np

from ucad.data import InterventionalData
from ucad.scm.families import AFFINE, NETWORK, Affine
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import THOROUGH, unit_variance
from ucad.solvers.search.causes import Causes, Shortlist
from ucad.solvers.search.model import fit_variables
from ucad.solvers.search.moves import moves_for

N_VARIABLES = 8
CLASSES = {
    "linear": (AFFINE, AFFINE),
    "curved factors": (NETWORK, AFFINE),
    "curved variables": (AFFINE, NETWORK),
    "curved": (NETWORK, NETWORK),
}


def measured(change=None, *, n_samples=800, clamped=None, layers=None):
    """x0 → z → x2, x3 and x1 → y → x4, x5, linear with noise; `change` may alter them."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_samples, N_VARIABLES))
    noise = 0.3 * rng.standard_normal(x.shape)
    x[:, 2:4] = x[:, [0]] + noise[:, 2:4]
    x[:, 4:6] = x[:, [1]] + noise[:, 4:6]
    if change is not None:
        change(x, noise)
    return InterventionalData.from_arrays(x, clamped, layer_of=layers).standardised()


def problem_of(data, families=(AFFINE, AFFINE), n_factors=2, prior=None):
    return Problem.of(data, n_factors, families, prior=prior)


def linear(data, parents, weights):
    function = Affine(np.array(parents), np.array(weights, dtype=float), 0.0)
    return unit_variance(function, data.x)


def children(*of_each):
    R = np.zeros((N_VARIABLES, len(of_each)), dtype=bool)
    for k, its in enumerate(of_each):
        R[list(its), k] = True
    return R


def model_of(problem, factors, *of_each):
    """The model with given factors, (parents, weights) each, and children."""
    made = [linear(problem.data, *factor) for factor in factors]
    return fit_variables(problem, made, children(*of_each), THOROUGH)


def nothing_known(n_variables=N_VARIABLES):
    """Everyone may cause everyone."""
    anyone = ~np.eye(n_variables, dtype=bool)
    return Causes((anyone,), np.ones(n_variables, dtype=bool), None, True, Shortlist(None))


def mixed(x, noise):
    """x5 hangs on both factors, and x3 bends what it reads."""
    x[:, 5] = x[:, 1] + x[:, 0] + noise[:, 5]
    x[:, 3] = np.sin(1.5 * x[:, 0]) + noise[:, 3]


def move_named(name, data):
    """The move, with candidates of which two are the true factors."""
    pool = [linear(data, [i], [1.0]) for i in (0, 1, 6)]
    (move,) = (move for move in moves_for(pool) if move.name == name)
    return move
