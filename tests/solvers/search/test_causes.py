"""Who may cause whom: what binds and what is only proposed."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import CLASSES, measured, problem_of
from ucad.scm.families import AFFINE, NETWORK
from ucad.simulate import paper_problem
from ucad.simulate.worlds import screen_problem
from ucad.solvers.problem import Problem
from ucad.solvers.search.causes import find_causes, parent_sets

LINEAR = (AFFINE, AFFINE)


def test_layers_are_the_one_answer_and_let_nothing_cause_what_is_not_later():
    data = paper_problem("a", "16-3", seed=0, n_samples=1000).train
    problem, causes = find_causes(Problem.of(data, 3, LINEAR))
    layer = np.asarray(data.layer_of)
    assert len(causes.proposals) == 1
    assert causes.evidence is None
    assert not causes.may_cause[layer[:, None] >= layer[None, :]].any()
    assert not problem.admissible.ancestors.any()


def test_interventions_bind_and_an_order_only_proposes():
    data = paper_problem("b", "16-3", seed=0, n_samples=2000).train
    problem, causes = find_causes(Problem.of(data, 3, LINEAR))
    assert len(causes.proposals) == 2
    assert problem.admissible.ancestors.any()
    for proposal in causes.proposals:
        assert not (proposal & ~problem.admissible.may_precede).any()
    order = causes.proposals[0]
    assert not (order & order.T).any()
    outside = problem.admissible.may_precede & ~order
    assert outside.any()  # which a model may still have


def test_where_nothing_was_acted_on_an_order_is_all_there_is():
    problem, causes = find_causes(problem_of(measured(), CLASSES["curved factors"]))
    assert causes.never_acted_on.all()
    assert causes.evidence is None
    assert len(causes.proposals) == 1
    assert not problem.admissible.ancestors.any()


def test_without_noise_nonlinear_causes_come_from_interventions_alone():
    clamped = np.zeros((800, 8), dtype=bool)
    clamped[:100, 0] = clamped[100:200, 1] = True

    def exactly(x, noise):
        x[:, 2] = x[:, 0]

    for change, n_proposals in [(exactly, 1), (None, 2)]:
        data = measured(change, clamped=clamped)
        _, causes = find_causes(problem_of(data, (NETWORK, AFFINE)))
        assert causes.is_noisy == (change is None)
        assert len(causes.proposals) == n_proposals


@pytest.mark.parametrize("clamp", ["constant", "random"])
def test_true_parents_of_a_screen_are_proposed_and_selected(clamp):
    truth = screen_problem(0, clamp=clamp, n_factors=2, parents=3, children=6)
    problem, causes = find_causes(Problem.of(truth.train, 2, LINEAR))
    A = np.asarray(truth.adjacency)
    assert causes.is_noisy
    assert causes.proposals[0][A].mean() > 0.9
    sets, gains = parent_sets(problem, causes.proposals[0], backward=True)
    made = np.flatnonzero(A.any(axis=0))
    hits = np.mean([set(sets[j]) == set(np.flatnonzero(A[:, j])) for j in made])
    assert hits > 0.7
    assert (gains[made] > 0).all()
    roots = np.flatnonzero(~A.any(axis=0))
    assert all(len(sets[j]) == 0 for j in roots)
