"""Relations without noise, solved for another of their members."""

import numpy as np

from ucad.data import InterventionalData
from ucad.scm.families import AFFINE
from ucad.solvers.problem import Problem
from ucad.solvers.search.turned_relations import turned_relations


def copies(noise=0.0):
    """x4 … x7 = x0 + x1 + x2 + x3, each variable set at random in 20 samples."""
    rng = np.random.default_rng(0)
    acted = np.zeros((2000, 8), dtype=bool)
    for v in range(8):
        acted[20 * v : 20 * v + 20, v] = True
    x = rng.standard_normal((2000, 8))
    total = x[:, :4].sum(axis=1, keepdims=True) + noise * rng.standard_normal((2000, 4))
    x[:, 4:] = np.where(acted[:, 4:], x[:, 4:], total)
    regime = np.where(acted.any(axis=1), acted.argmax(axis=1) + 1, 0)
    data = InterventionalData(x, acted, regime, tuple("abcdefgh"), None)
    return Problem.of(data.standardised(), 1, (AFFINE, AFFINE))


def test_a_relation_read_the_wrong_way_round_is_turned_and_copies_are_no_causes():
    wrong = (0, (1, 2, 3, 4, 5, 6, 7))
    right = [(j, (0, 1, 2, 3)) for j in range(4, 8)]
    assert list(turned_relations(copies(), [wrong])) == right
    assert not list(turned_relations(copies(), [*right[1:], (4, (0, 1, 2, 3))]))


def test_what_is_not_exact_is_not_turned():
    assert not list(turned_relations(copies(noise=0.5), [(0, (1, 2, 3, 4))]))
    assert not list(turned_relations(copies(), [(0, (1, 2, 3))]))
