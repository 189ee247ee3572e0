"""The path over the number of factors, from data to a recommendation."""

import numpy as np
import pytest

import ucad
from ucad.consensus.path import default_last
from ucad.errors import InvalidInputError
from ucad.graph import transitive_closure
from ucad.simulate import world_problem
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.search.model import fit_variables
from ucad.solvers.search.search import Search

LINEAR = {"factor_mechanism": "linear", "variable_mechanism": "linear"}


@pytest.fixture(scope="module")
def problem():
    return ucad.paper_problem("b", "16-3", seed=0, n_samples=3000)


@pytest.fixture(scope="module")
def path(problem):
    return ucad.UCAD(**LINEAR).factor_path(problem.train)


def test_the_true_number_of_factors_is_recommended(path):
    assert path.recommendation.n_factors == 3
    assert [step.is_adequate for step in path.steps[:4]] == [False, False, False, True]


def test_the_path_ends_where_nothing_more_is_found(path):
    assert len(path.steps) == 5
    assert path.steps[-1].n_empty == 1


def test_factors_come_back_with_one_factor_more(path):
    assert path.steps[3].n_returning == 3


def test_rows_and_json_hold_plain_values(path):
    plain = path.to_json()
    assert plain["n_factors"] == 3
    assert {type(value) for row in plain["steps"] for value in row.values()} <= {
        int, float, str, bool, type(None),
    }  # fmt: skip


def test_permuted_columns_show_no_factors(problem):
    rng = np.random.default_rng(0)
    x = np.stack([rng.permutation(column) for column in problem.train.x.T], axis=1)
    found = ucad.UCAD(**LINEAR).factor_path(x).recommendation
    assert found.plausible == (0,)


def test_a_random_dag_shows_no_factors():
    data = world_problem("sparse-dag", 1, n_samples=4000, n_variables=12).train
    assert ucad.UCAD(**LINEAR).factor_path(data).recommendation.n_factors == 0


def test_prior_knowledge_sets_the_smallest_number(problem):
    names = problem.train.variable_names
    prior = PriorKnowledge.from_edges(names, 2, required=[f"{names[0]} -> Z2"])
    found = ucad.UCAD(prior=prior, **LINEAR).factor_path(problem.train)
    assert found.steps[0].n_factors == 2
    assert all(step.scm.graph.Q[0, 1] for step in found.steps)


def test_a_path_out_of_time_says_so(problem):
    found = ucad.UCAD(max_seconds=1e-3, **LINEAR).factor_path(problem.train)
    assert found.cut_short == "The budget of 0.001 s ended."


@pytest.mark.parametrize("numbers", [{"first": 4, "last": 2}, {"last": 16}, {"first": -1}])
def test_numbers_that_make_no_sense_are_refused(problem, numbers):
    with pytest.raises(InvalidInputError, match="numbers of factors to try"):
        ucad.UCAD(**LINEAR).factor_path(problem.train, **numbers)


def test_few_variables_have_few_factors():
    assert [default_last(n) for n in (2, 3, 16, 500)] == [1, 1, 8, 12]


class Stuck(Search):
    """A search that, without moves, always overlooks one variable."""

    def run(self):
        super().run()
        if not self.fills and self.problem.n_factors >= 3:
            R = self.model.R.copy()
            R[np.flatnonzero(R.any(axis=1))[0]] = False
            effort = self.problem.efforts()[0]
            self.model = fit_variables(self.problem, list(self.model.factors), R, effort)
        return self


def test_further_factors_do_not_make_up_for_a_search_that_is_stuck(monkeypatch):
    problem = ucad.paper_problem("e", "16-3", seed=1, n_samples=4000)
    monkeypatch.setattr("ucad.consensus.path.Search", Stuck)
    model = ucad.UCAD(factor_mechanism="mlp", variable_mechanism="linear")
    path = model.factor_path(problem.train, last=4)
    assert not path.steps[4].is_adequate
    assert path.steps[3].is_adequate
    assert path.recommendation.n_factors == 3


def test_the_noise_of_readings_is_known_to_the_path_and_to_its_fit():
    """Taken for the variables, noisy readings need more and more factors, made of siblings."""
    problem = world_problem("read-noise", seed=2)
    data = problem.train.unstandardised()
    model = ucad.UCAD("auto", measurement="gaussian", measurement_noise=0.5).fit(data)
    assert model.scm_.reading_noise is not None
    assert model.graph_.n_factors == problem.graph.n_factors
    found = transitive_closure(np.asarray(model.graph_.variable_adjacency))
    assert not (found & ~transitive_closure(problem.adjacency)).any()
