from dataclasses import replace

import numpy as np
import pytest

from ucad.errors import InvalidInputError
from ucad.metrics import mean_correlation
from ucad.simulate import paper_problem
from ucad.solvers.choose import SolveSettings, _better, solve
from ucad.solvers.prior import PriorKnowledge


@pytest.fixture(scope="module")
def problem():
    return paper_problem("a", "16-3", seed=3, n_samples=2000)


def settings(**changes) -> SolveSettings:
    linear = {"factor_mechanism": "linear", "variable_mechanism": "linear"}
    return SolveSettings(**({"n_factors": 3} | linear | changes))


@pytest.mark.parametrize("solver", ["search", "auto"])
def test_the_factors_of_an_easy_problem_are_found(problem, solver):
    result = solve(problem.train, settings(solver=solver), validation=problem.validation)
    z = result.scm.state_map(problem.test.x).numpy()
    assert mean_correlation(z, problem.factors).mean > 0.99
    expected = result.scm.nll(problem.validation.x, problem.validation.is_intervened)
    assert result.validation_nll == pytest.approx(expected)


def test_auto_is_never_worse_on_validation_data_than_the_search(problem):
    search, auto = (
        solve(problem.train, settings(solver=name), validation=problem.validation)
        for name in ("search", "auto")
    )
    assert auto.validation_nll <= search.validation_nll + 1e-9
    assert any(note.startswith("Kept the model of the") for note in auto.status.notes)
    assert len(auto.history) > len(search.history)


def test_the_lower_validation_nll_wins(problem):
    found = solve(problem.train, settings(solver="search"), validation=problem.validation)
    worse = replace(found, validation_nll=found.validation_nll + 1, seconds=2.0)
    assert _better(found, worse).validation_nll == found.validation_nll
    assert "search" in _better(found, worse).status.notes[-1]
    assert "gradient" in _better(worse, found).status.notes[-1]


def test_prior_knowledge_reaches_every_solver(problem):
    forbidden = np.zeros((16, 3), dtype=bool)
    cause = int(problem.scm.graph.Q.any(axis=1).argmax())
    forbidden[cause] = True
    prior = PriorKnowledge(forbidden_parent=forbidden)
    for solver in ("search", "auto"):
        known = settings(solver=solver, prior=prior)
        result = solve(problem.train, known, validation=problem.validation)
        assert not result.scm.graph.Q[cause].any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"solver": "grad"}, "one of auto, search, gradient, gradient-paper"),
        ({"factor_mechanism": "liner"}, "Did you mean 'linear'"),
    ],
)
def test_unknown_choices_are_refused(changes, message):
    with pytest.raises(InvalidInputError, match=message):
        settings(**changes)
