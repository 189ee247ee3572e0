"""Markov blankets and peeling, on screens and chains."""

from dataclasses import replace

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.scm.families import AFFINE
from ucad.simulate.worlds import screen_problem
from ucad.solvers.admissible import Admissible
from ucad.solvers.problem import Problem
from ucad.solvers.search.blankets import _without, has_enough_samples, has_noise, peel


def problem_of(x):
    return Problem.of(InterventionalData.from_arrays(x).standardised(), 1, (AFFINE, AFFINE))


def chain(noise):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 4))
    for j in range(1, 4):
        x[:, j] = x[:, j - 1] + noise * x[:, j]
    return problem_of(x)


def test_only_variables_with_noise_of_their_own_have_noise():
    assert has_noise(chain(0.5))
    assert not has_noise(chain(1e-3))


def few_samples(noise):
    """Copies of one factor in 60 of 100 variables, from 90 samples."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((90, 100))
    x[:, 40:] = x[:, :4].sum(axis=1, keepdims=True) + noise * x[:, 40:]
    return problem_of(x)


def test_noise_is_told_from_none_where_variables_outnumber_samples():
    assert not has_enough_samples(few_samples(1.0))
    assert has_noise(few_samples(1.0))
    assert not has_noise(few_samples(0.0))


def test_variables_that_outnumber_samples_are_peeled_by_their_correlations():
    peeled = peel(few_samples(1.0))
    assert sorted(peeled.position) == list(range(100))
    assert peeled.candidates[40:, 40:].any()


def test_taking_variables_out_of_an_inverse_is_inverting_the_rest():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((9, 6))
    covariance, gone = root.T @ root, np.array([False, True, False, False, True, False])
    rest = np.linalg.inv(covariance[np.ix_(~gone, ~gone)])
    np.testing.assert_allclose(_without(np.linalg.inv(covariance), gone), rest, atol=1e-10)


def test_the_neighbours_of_a_chain_are_candidates_and_others_are_not():
    met = peel(chain(0.5)).candidates
    near = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) == 1
    assert not (met & ~near).any()
    assert (met | met.T)[near].all()


def test_known_ancestors_come_before_their_descendants():
    problem = chain(0.5)
    for first, last in [(0, 3), (3, 0)]:
        known = np.zeros((4, 4), dtype=bool)
        known[first, last] = True
        told = replace(problem, admissible=Admissible.of(problem.data).with_ancestors(known))
        position = peel(told).position
        assert position[first] < position[last]
        assert sorted(position) == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", ["independent", "chain"])
def test_parents_of_a_screen_come_first_and_are_the_candidates_of_children(seed, shape):
    truth = screen_problem(seed, n_factors=2, parents=5, children=8, shape=shape)
    problem = Problem.of(truth.train, 2, (AFFINE, AFFINE))
    found = peel(problem)
    A = np.asarray(truth.adjacency)
    before = found.position[:, None] < found.position[None, :]
    assert before[A].mean() > 0.95
    assert found.candidates[A].mean() > 0.8
    leaves = truth.graph.R.any(axis=1) & ~truth.graph.Q.any(axis=1)
    siblings = found.candidates & leaves[:, None] & leaves[None, :]
    assert siblings.sum() < 0.2 * found.candidates.sum()


def test_independent_variables_have_no_blankets():
    found = peel(problem_of(np.random.default_rng(0).standard_normal((1000, 5))))
    assert not found.candidates.any()
    assert sorted(found.position) == list(range(5))
