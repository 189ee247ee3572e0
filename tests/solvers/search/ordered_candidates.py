"""Candidates for the factors of a chain, and choices among them under an order."""

import numpy as np

from ucad.data import InterventionalData
from ucad.scm.families import AFFINE, Affine
from ucad.solvers.problem import Problem
from ucad.solvers.regression.fitting import unit_variance
from ucad.solvers.search.choice import build_choice


def made(data, parents, weights):
    return unit_variance(Affine(np.array(parents), np.array(weights), 0.0), data.x)


def chain_and_candidates():
    """x0, x1 → z → x2, x3; x3 → y → x4; five candidates, of which two are the factors."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1000, 5))
    x[:, 2] = x[:, 0] + x[:, 1]
    x[:, 3] = -x[:, 0] - x[:, 1]
    x[:200, 3] = rng.standard_normal(200)
    x[:, 4] = 2 * x[:, 3]
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[:200, 3] = True
    data = InterventionalData.from_arrays(x, clamped).standardised()
    scale = x[:, :2].std(axis=0)
    pool = [made(data, [0, 1], scale), *(made(data, [i], [1.0]) for i in (3, 2, 0, 4))]
    return data, pool


def choice_of(data, pool, layers=None):
    if layers is not None:
        data = InterventionalData.from_arrays(data.x, data.is_intervened, layer_of=layers)
    return build_choice(pool, Problem.of(data, 2, (AFFINE, AFFINE)))
