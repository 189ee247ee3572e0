"""Linear first, and others only where something is left."""

from dataclasses import replace

import numpy as np
import pytest

from ucad.graph import FactorGraph
from ucad.scm.families import AFFINE, NETWORK
from ucad.simulate import paper_problem
from ucad.solvers import FitStatus
from ucad.solvers.problem import Problem
from ucad.solvers.search import fit_search
from ucad.solvers.search.auto import has_straight_factors, is_bent, simplest_fit

CLASSES = ((AFFINE, AFFINE), (AFFINE, NETWORK), (NETWORK, AFFINE), (NETWORK, NETWORK))


@pytest.fixture(scope="module")
def linear():
    return paper_problem("b", "16-3", seed=1, n_samples=3000)


@pytest.fixture(scope="module")
def found(linear):
    return fit_search(linear.train, 3, validation=linear.validation)


class Faked:
    """Searches that give the true model with more or less noise, so that classes can be ranked."""

    def __init__(self, problem, result, noise, unfinished=(), others=None):
        self.problem, self.result, self.noise = problem, result, noise
        self.others = others or {}
        self.unfinished, self.searched, self.finished, self.expressed = unfinished, [], [], []

    def fit(self, one):
        scm = self.others.get(one, self.result).scm
        scm = replace(scm, noise_scale=scm.noise_scale * self.noise[one])
        done = one not in self.unfinished
        status = FitStatus(converged=done, feasible=True, reason="Faked.")
        return replace(self.result, scm=scm, status=status, history=({"stage": "faked"},))

    def find(self, one):
        self.searched.append(one)
        return self.fit(one)

    def finish(self, one, found):
        assert one in self.searched
        self.finished.append(one)
        return found

    def express(self, one, fit):
        self.expressed.append(one)
        return self.fit(one)

    def is_straight(self, _):
        return self.straight

    def has_bends(self, _):
        return self.bends if len(self.searched) == 1 else self.still

    def chosen(self, *, bends=True, straight=False, still=False):
        """`still`: whether something bends beyond the first fit, too."""
        self.bends, self.straight, self.still = bends, straight, still
        return simplest_fit(CLASSES, self, self.problem.validation)


def noises(best, worse=3.0):
    return {one: 1.0 if one in best else worse for one in CLASSES}


def test_without_bends_the_linear_fit_is_kept_and_nothing_else_searched(linear, found):
    faked = Faked(linear, found, noises(CLASSES))
    assert faked.chosen(bends=False).status.reason == "Faked."
    assert faked.searched == [CLASSES[0]]
    assert not faked.expressed


def test_the_linear_class_stays_where_others_are_no_better(linear, found):
    faked = Faked(linear, found, noises(CLASSES))
    result = faked.chosen()
    assert "F_Z linear and F_X linear" in result.status.notes[-1]
    assert len(faked.searched) == 2


@pytest.mark.parametrize("straight", [False, True])
def test_the_likelier_half_linear_class_is_searched_second(linear, found, straight):
    better = CLASSES[1] if straight else CLASSES[2]
    faked = Faked(linear, found, noises([better, CLASSES[3]]))
    result = faked.chosen(straight=straight)
    assert faked.searched == [CLASSES[0], better]
    assert f"F_Z {better[0].name} and F_X {better[1].name}" in result.status.notes[-1]
    assert len(result.history) == 2


def test_moves_are_left_to_classes_that_are_likelier_than_all_before(linear, found):
    """The third search does no better than the second: no move is tried on what it found."""
    faked = Faked(linear, found, noises([CLASSES[2], CLASSES[3]]) | {CLASSES[3]: 1.2})
    faked.chosen(straight=True, still=True)
    assert faked.searched == [CLASSES[0], CLASSES[1], CLASSES[2], CLASSES[3]]
    assert faked.finished == [CLASSES[0], CLASSES[2]]


def test_what_is_kept_is_finished_even_if_another_class_is_likelier(linear, found):
    """A simpler class within two standard errors of the best is kept though it came later."""
    slightly = {CLASSES[3]: 1.0, CLASSES[1]: 1.0005, CLASSES[2]: 3.0, CLASSES[0]: 3.0}
    faked = Faked(linear, found, slightly)
    result = faked.chosen(still=True)
    assert "F_Z linear and F_X mlp" in result.status.notes[-1]
    assert faked.finished.count(CLASSES[1]) == 1


def test_a_class_that_does_better_when_expressed_is_searched_too(linear, found):
    faked = Faked(linear, found, noises([CLASSES[3]]))
    result = faked.chosen()
    assert faked.searched == [CLASSES[0], CLASSES[2], CLASSES[3]]
    assert "F_Z mlp and F_X mlp" in result.status.notes[-1]


def test_the_classes_within_the_richest_are_not_expressed_if_it_does_no_better(linear, found):
    faked = Faked(linear, found, noises([CLASSES[2], CLASSES[3]]))
    faked.chosen()
    assert faked.expressed == [CLASSES[3]]


def test_where_curves_still_predict_what_is_left_all_classes_are_searched(linear, found):
    """The graph was found in another class: that the richest does no better on it proves little."""
    faked = Faked(linear, found, noises([CLASSES[2], CLASSES[3]]))
    faked.chosen(straight=True, still=True)
    assert set(faked.searched) == set(CLASSES)
    assert len(faked.searched) == len(CLASSES)


def test_a_half_linear_fit_without_anchors_has_the_other_half_linear_class_searched(linear, found):
    """The one that needs fewer edges is kept, both being as likely."""
    graph = found.scm.graph
    shared = graph.Q.any(axis=1)[:, None] & graph.Q.any(axis=0) & ~graph.R  # nobody's own parents
    mixed = replace(found, scm=replace(found.scm, graph=FactorGraph(shared, graph.R)))
    faked = Faked(linear, found, noises(CLASSES[1:]), others={CLASSES[2]: mixed})
    result = faked.chosen()
    assert faked.searched == [CLASSES[0], CLASSES[2], CLASSES[1]]
    assert "F_Z linear and F_X mlp" in result.status.notes[-1]


def test_a_search_that_was_cut_short_is_the_last(linear, found):
    first = Faked(linear, found, noises([CLASSES[3]]), unfinished=[CLASSES[0]])
    assert not first.chosen().status.converged
    assert first.searched == [CLASSES[0]]
    second = Faked(linear, found, noises([CLASSES[3]]), unfinished=[CLASSES[2]])
    second.chosen()
    assert second.searched == [CLASSES[0], CLASSES[2]]
    assert not second.expressed


@pytest.mark.parametrize(
    ("setting", "bent"), [("a", False), ("b", False), ("e", True), ("f", True)]
)
def test_bends_are_seen_where_mechanisms_are_not_linear(setting, bent):
    problem = paper_problem(setting, "16-3", seed=0, n_samples=4000)
    scm = fit_search(problem.train, 3).scm
    assert is_bent(scm, problem.train, problem.validation) == bent


@pytest.mark.parametrize(("setting", "straight"), [("f", True), ("e", False)])
def test_factors_seem_straight_where_variables_are_functions_of_one_direction(setting, straight):
    problem = paper_problem(setting, "16-3", seed=1, n_samples=4000)
    scm = fit_search(problem.train, 3).scm
    made = Problem.of(problem.train, 3, (AFFINE, AFFINE))
    assert has_straight_factors(made, problem.scm if problem.scm else scm) == straight
    assert np.isfinite(scm.noise_scale.numpy()).all()
