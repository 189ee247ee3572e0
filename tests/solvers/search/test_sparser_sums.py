"""Linear functions with fewer parents, by multiples of relations that hold without noise."""

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.scm.families import AFFINE, Affine
from ucad.solvers.problem import Problem
from ucad.solvers.search.solver import fit_search
from ucad.solvers.search.sparser_sums import (
    exact_relations,
    sparser_functions,
    sparsest_difference,
)

CAUSES = np.array([1.0, -0.5, 0.8, 0.6])


def chain(acted_on=(), noise=0.0, dtype=np.float64):
    """x4 = b · (x0 … x3), never acted on unless said so, x6 … x8 = x0 + x4 + x5."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4000, 9))
    acted = np.zeros(x.shape, dtype=bool)
    for v in (0, 1, 2, 3, 5, 6, 7, 8, *acted_on):
        acted[40 * v : 40 * v + 40, v] = True
    made = x[:, :4] @ CAUSES + noise * x[:, 4]
    x[:, 4] = np.where(acted[:, 4], x[:, 4], made)
    sums = (x[:, 0] + x[:, 4] + x[:, 5])[:, None]
    x[:, 6:] = np.where(acted[:, 6:], x[:, 6:], sums)
    regime = np.where(acted.any(axis=1), acted.argmax(axis=1) + 1, 0)
    data = InterventionalData(x.astype(dtype), acted, regime, tuple("abcdefghi"), None)
    return Problem.of(data.standardised(), 2, (AFFINE, AFFINE))


def read(problem, j, parents):
    """The variable j as a function of others, by least squares."""
    x = problem.data.x[problem.data.moments.left_out.others(j)].astype(np.float64)
    w = np.linalg.lstsq(x[:, list(parents)], x[:, j], rcond=None)[0]
    return Affine(np.array(parents), w, 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_causes_of_a_parent_give_way_to_the_parent(dtype):
    problem = chain(dtype=dtype)
    (relation,) = exact_relations(problem, {(4, (0, 1, 2, 3))})
    assert relation.effect == 4
    long = read(problem, 6, (0, 1, 2, 3, 5))
    (short,) = sparser_functions(problem, [long], [relation])
    assert short.parents.tolist() == [0, 4, 5]
    np.testing.assert_allclose(short.values(problem.data.x), long.values(problem.data.x), atol=1e-4)


def test_a_variable_that_was_acted_on_or_has_noise_gives_no_relation():
    reading = {(4, (0, 1, 2, 3))}
    assert not exact_relations(chain(acted_on=(4,)), reading)
    assert not exact_relations(chain(noise=0.1), reading)


def test_a_factor_is_taken_out_of_a_mixture_with_which_it_shares_a_parent():
    problem = chain()
    one = Affine(np.array([0, 1, 2]), np.array([1.0, 0.5, -0.7]), 0.0)
    mixture = Affine(np.array([0, 1, 2, 3, 5]), np.array([0.3, 1.0, -1.4, 0.9, 0.4]), 0.0)
    found = sparsest_difference(problem, mixture, one)
    assert found is not None
    assert found.parents.tolist() == [0, 3, 5]
    np.testing.assert_allclose(found.w, [-1.7, 0.9, 0.4], atol=1e-9)


def test_one_weight_that_vanishes_is_an_accident():
    problem = chain()
    one = Affine(np.array([0, 1]), np.array([1.0, 0.5]), 0.0)
    other = Affine(np.array([0, 1, 2]), np.array([1.0, 0.7, 0.4]), 0.0)
    assert sparsest_difference(problem, other, one) is None


def test_the_search_finds_a_factor_without_a_child_of_its_own_that_shares_a_parent():
    rng = np.random.default_rng(0)
    x, acted = rng.standard_normal((4000, 12)), np.zeros((4000, 12), dtype=bool)
    for v in range(12):
        acted[40 * v : 40 * v + 40, v] = True
    one, two = (x[:, parents] @ rng.uniform(0.5, 1.5, 3) for parents in ([0, 1, 2], [0, 3, 4]))
    for j, z in {6: one, 7: one, 8: one + two, 9: one - 2 * two, 10: 2 * one + two}.items():
        x[:, j] = np.where(acted[:, j], x[:, j], z)
    regime = np.where(acted.any(axis=1), acted.argmax(axis=1) + 1, 0)
    data = InterventionalData(x, acted, regime, tuple("abcdefghijkl"), None).standardised()
    graph = fit_search(data, 2).scm.graph
    parents = sorted(np.flatnonzero(column).tolist() for column in np.asarray(graph.Q).T)
    assert parents == [[0, 1, 2], [0, 3, 4]]
