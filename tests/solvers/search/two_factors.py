"""A small problem on which the moves of the search are tried: two factors among 16 variables."""

import numpy as np

from ucad.data import InterventionalData
from ucad.solvers.search import Mechanisms, SearchConfig
from ucad.solvers.search.causes import Causes
from ucad.solvers.search.functions import Function, unit_variance

N_VARIABLES = 16
LINEAR = SearchConfig().settings(2000, seed=0)
NONLINEAR = SearchConfig(factor_mechanism=Mechanisms.MLP).settings(2000, seed=0)


def measured(change=None):
    """x0 → z → x2, x3 and x1 → y → x4, x5, linear with noise; `change` may alter them."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, N_VARIABLES))
    noise = 0.3 * rng.standard_normal(x.shape)
    x[:, 2:4] = x[:, [0]] + noise[:, 2:4]
    x[:, 4:6] = x[:, [1]] + noise[:, 4:6]
    if change is not None:
        change(x, noise)
    return InterventionalData.from_arrays(x).standardised()


def linear(data, parents, weights):
    function = Function(np.array(parents), None, None, np.array(weights, dtype=float), 0.0)
    return unit_variance(function, data.x)


def children(*of_each):
    R = np.zeros((N_VARIABLES, len(of_each)), dtype=bool)
    for k, its in enumerate(of_each):
        R[list(its), k] = True
    return R


def nothing_known(ancestors=(), layers=None):
    """Who may cause whom: everyone, but for some known ancestors or layers."""
    known = np.zeros((N_VARIABLES, N_VARIABLES), dtype=bool)
    for pair in ancestors:
        known[pair] = True
    anyone = ~np.eye(N_VARIABLES, dtype=bool)
    position = None if layers is None else np.array(layers)
    return Causes(anyone, known, position, np.ones(N_VARIABLES, dtype=bool))
