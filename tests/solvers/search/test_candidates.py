"""Candidate factors."""

from dataclasses import replace

import numpy as np
import pytest

from tests.solvers.search.two_factors import CLASSES, measured, nothing_known, problem_of
from ucad.data import InterventionalData
from ucad.scm.families import Affine
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.regression.fitting import distinct
from ucad.solvers.search.candidates import Candidates
from ucad.solvers.search.choice import build_choice, choose_factors


def wave(x):
    """Goes up, down and up again; no single feature of a regression follows it."""
    return np.exp(-20 * (x + 0.2) ** 2) - np.exp(-20 * (x - 0.2) ** 2)


@pytest.fixture(scope="module")
def data():
    """Besides the two factors, x7 = wave(x6) and much noise."""

    def weak(x, noise):
        x[:, 7] = wave(x[:, 6]) + 8 * noise[:, 7]

    return measured(weak, n_samples=2000)


def candidates(data, name="curved factors", later=()):
    problem = problem_of(data, CLASSES[name])
    known = np.zeros((8, 8), dtype=bool)
    known[7, list(later)] = True
    problem = replace(problem, admissible=problem.admissible.with_ancestors(known))
    return Candidates(problem, nothing_known())


def parents_of(functions):
    return [function.parents.tolist() for function in functions]


@pytest.mark.parametrize("name", ["linear", "curved factors"])
def test_anchors_are_functions_of_the_parents(data, name):
    functions = list(candidates(data, name).anchors())
    values = np.stack([f.values(data.x) for f in functions], axis=1)
    for cause in (0, 1):
        correlation = np.abs(np.corrcoef(values.T, data.x[:, cause])[-1, :-1])
        assert correlation.max() > 0.9


def test_a_wave_is_seen_where_no_feature_pays_alone(data):
    proposer = candidates(data)
    sets, _ = proposer._parent_sets(nothing_known().may_cause)
    assert 6 not in sets[7]
    assert [6] in parents_of(proposer.anchors())
    assert [6] not in parents_of(candidates(data, later=[6]).anchors())


def test_what_is_left_is_a_function_of_the_variable_that_explains_most(data):
    left = np.zeros_like(data.x)
    left[:, 7] = data.x[:, 7]
    first = next(iter(candidates(data).of_one_parent(left, 3)))
    assert first.parents.tolist() == [6]
    assert abs(np.corrcoef(first.values(data.x), wave(data.x[:, 6]))[0, 1]) > 0.7


def test_a_factor_that_is_missing_is_proposed_and_explained_ones_are_not(data):
    proposer = candidates(data, "linear")
    left = np.zeros_like(data.x)
    left[:, 4] = data.x[:, 4]
    found = list(proposer.missing(lambda some: left[:, some], 3))
    assert len(found) == 1
    assert set(found[0].parents) <= {1, 5}
    assert not list(proposer.missing(lambda some: 0.0 * left[:, some], 3))


def test_better_versions_of_chosen_factors_have_the_parents_their_children_ask_for(data):
    proposer = candidates(data, "linear")
    pool = distinct(proposer.anchors(), data.x)
    choice = build_choice(pool, proposer.problem)
    order = choose_factors(choice, 2)
    assert len(order) == 2
    again = list(proposer.improvements(choice, order))
    assert all(np.isfinite(f.values(data.x)).all() for f in again)
    assert all(np.std(f.values(data.x)) == pytest.approx(1.0, abs=1e-3) for f in again)


def test_a_known_anchor_makes_a_candidate_with_its_required_parents(data):
    required = np.zeros((2, 8, 2), dtype=bool)
    required[0, 6, 0] = required[1, 2, 0] = True
    prior = PriorKnowledge(required_parent=required[0], required_child=required[1])
    problem = problem_of(data, prior=prior)
    first = next(iter(Candidates(problem, nothing_known()).anchors()))
    assert 6 in first.parents
    assert not any(6 in parents for parents in parents_of(candidates(data, "linear").anchors()))


def test_a_factor_mixed_with_another_through_its_child_is_separated():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 8))
    x[:, 4], x[:, 5] = x[:, 0] + x[:, 1], x[:, 0] + x[:, 1]
    x[:, 6] = x[:, 2] + x[:, 3] + x[:, 5]
    data = InterventionalData.from_arrays(x).standardised()
    proposer = Candidates(problem_of(data, CLASSES["linear"]), nothing_known())
    scale = data.x[:, [2, 3]].std()
    first = Affine(np.array([0, 1]), np.ones(2), 0.0)
    mixed = Affine(np.array([2, 3, 5]), np.array([1.0, 1.0, np.sqrt(2)]) / scale, 0.0)
    choice = build_choice([first, mixed], proposer.problem)
    found = list(proposer._separated(choice, (0, 1), choice.children((0, 1))))
    assert [2, 3] in parents_of(found)


def test_a_mixture_whose_own_parent_is_a_child_of_the_other_factor_is_separated():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 8))
    x[:, 4] += x[:, 0] + x[:, 1]
    x[:, 5] += x[:, 0] + x[:, 1]
    x[:, 6] += x[:, 0] + x[:, 1] + x[:, 4]
    data = InterventionalData.from_arrays(x).standardised()
    proposer = Candidates(problem_of(data, CLASSES["linear"]), nothing_known())
    scale = data.scaling.scale[[0, 1, 4]]
    first = Affine(np.array([0, 1]), scale[:2], 0.0)
    mixed = Affine(np.array([0, 1, 4]), scale, 0.0)
    choice = build_choice([first, mixed], proposer.problem)
    found = list(proposer._separated(choice, (0, 1), choice.children((0, 1))))
    assert [4] in parents_of(found)
