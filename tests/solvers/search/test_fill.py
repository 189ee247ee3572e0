"""Places of factors that nothing was found for."""

from __future__ import annotations

import numpy as np
import pytest

from ucad.simulate import paper_problem
from ucad.solvers.search import SearchConfig, fit_search
from ucad.solvers.search.fill import empty_places, worth
from ucad.solvers.search.functions import NOTHING
from ucad.solvers.search.refinement import fit_variables
from ucad.solvers.search.start import model_of_graph


@pytest.fixture(scope="module")
def collinear():
    return paper_problem("a", "16-3", seed=12)  # two factors have the same single parent


def test_collinear_factors_both_have_a_parent_and_a_child(collinear):
    result = fit_search(collinear.train, 3)
    assert result.scm.graph.Q.any(axis=0).all()
    assert result.scm.graph.R.any(axis=0).all()
    assert any("collinear" in note for note in result.status.notes)
    assert "filling empty places" in [row["stage"] for row in result.history]


def test_a_model_with_all_its_factors_is_worth_more_than_one_that_scores_higher(collinear):
    settings = SearchConfig().settings(collinear.train.n_samples, seed=0)
    full = model_of_graph(collinear.train, collinear.scm.graph, settings)
    R = full.R.copy()
    R[:, 0] = False
    part = fit_variables(collinear.train, [NOTHING, *full.factors[1:]], R, settings)
    assert empty_places(full).size == 0
    assert empty_places(part).tolist() == [0]
    assert worth(full) > worth(part)


def test_a_factor_too_many_is_filled_and_leaves_the_true_ones_alone():
    problem = paper_problem("b", "16-3", seed=0, n_samples=4000)
    learned = fit_search(problem.train, 4).scm.state_map(problem.test.x).numpy()
    correlation = np.corrcoef(learned.T, problem.factors.T)[:4, 4:]
    assert (np.abs(correlation).max(axis=0) > 0.999).all()
