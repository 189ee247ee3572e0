"""Ancestors read off interventions."""

import numpy as np
import pytest

from ucad.graph import topological_levels
from ucad.simulate import paper_problem
from ucad.solvers.search.screening import ScreeningConfig, dependence, screen, transitive_closure


def true_ancestors(problem):
    return transitive_closure(problem.scm.graph.variable_adjacency)


@pytest.mark.parametrize("setting", ["b", "d", "g"])
def test_no_variable_is_called_an_ancestor_that_is_not(setting):
    problem = paper_problem(setting, "16-3", seed=0)
    data = problem.train
    _, ancestors = screen(data.x, data.is_intervened, ScreeningConfig(), nonlinear=setting != "b")
    assert ancestors.any()
    assert not (ancestors & ~true_ancestors(problem)).any()


def test_known_ancestors_are_closed_and_acyclic():
    data = paper_problem("b", "64-6", seed=1).train
    _, ancestors = screen(data.x, data.is_intervened, ScreeningConfig(), nonlinear=False)
    assert (transitive_closure(ancestors) == ancestors).all()
    assert topological_levels(ancestors) is not None


def test_residuals_of_known_ancestors_show_weak_causes():
    rng = np.random.default_rng(0)
    strong, weak = rng.standard_normal((2, 4000))
    clamped = np.zeros((4000, 3), dtype=bool)
    clamped[:400, 0] = clamped[400:600, 1] = True
    x = np.column_stack([strong, weak, 3 * strong + 0.4 * weak])
    once = dependence(x, clamped, x, nonlinear=False)
    evidence, ancestors = screen(x, clamped, ScreeningConfig(), nonlinear=False)
    assert once[1, 2] < 10 < evidence[1, 2]
    assert ancestors[1, 2]


def test_a_cause_without_linear_correlation_is_seen_by_nonlinear_screening():
    rng = np.random.default_rng(0)
    cause = rng.standard_normal(3000)
    x = np.column_stack([cause, cause**3 - 3 * cause + 0.1 * rng.standard_normal(3000)])
    clamped = np.zeros((3000, 2), dtype=bool)
    clamped[:1000, 0] = True
    assert dependence(x, clamped, x, nonlinear=True)[0, 1] > 100


def test_what_is_never_clamped_has_no_evidence():
    data = paper_problem("b", "16-3", seed=0).train
    never = ~data.is_intervened.any(axis=0)
    evidence = dependence(data.x, data.is_intervened, data.x, nonlinear=False)
    assert (evidence[never] == 0).all()
