import numpy as np
import pytest

from ucad import UCAD
from ucad.errors import InvalidInputError
from ucad.metrics import mean_correlation
from ucad.simulate.worlds import world_problem
from ucad.solvers.context import where_it_acts
from ucad.solvers.registry import SolveSettings, solve

LINEAR = {"factor_mechanism": "linear", "variable_mechanism": "linear"}


def found(problem, **settings):
    asked = SolveSettings(n_factors=problem.n_factors, **LINEAR, **settings)
    return solve(problem.train, asked, validation=problem.validation)


def followed(scm, problem):
    z = scm.state_map(problem.test.x, problem.test.covariates).numpy()
    return mean_correlation(z, problem.factors).mean


@pytest.mark.parametrize(
    ("world", "acts_on"), [("batches", "readings"), ("known-context", "mechanisms")]
)
def test_a_batch_that_is_given_is_no_factor(world, acts_on):
    problem = world_problem(world, 1, n_samples=2500, n_variables=12, n_factors=2)
    known = problem.in_context()
    assert where_it_acts(known.train) == acts_on
    result = found(known)
    assert followed(result.scm, known) > 0.99
    assert followed(found(problem).scm, problem) < 0.95
    assert any(f"acts on {acts_on}" in note for note in result.status.notes)


def test_a_context_that_does_nothing_changes_nothing():
    problem = world_problem("planted", 3, n_samples=2000, n_variables=12, n_factors=2)
    idle = np.random.default_rng(0).normal(size=problem.train.n_samples)
    there = np.zeros(problem.validation.n_samples)
    plain = found(problem).scm
    given = solve(
        problem.train.with_context({"idle": idle}),
        SolveSettings(n_factors=2, **LINEAR),
        validation=problem.validation.with_context({"idle": there + 0.5}),
    ).scm
    assert given.graph == plain.graph
    assert float(given.context.weight.abs().max()) < 0.1


def test_another_solver_takes_a_context_too():
    problem = world_problem("batches", 2, n_samples=3000).in_context()
    result = found(problem, solver="gradient", max_seconds=3.0)
    assert result.scm.context is not None
    assert np.isfinite(result.scm.nll(problem.test.x, None, problem.test.covariates))


def test_an_unknown_place_is_refused():
    with pytest.raises(InvalidInputError, match="auto, mechanisms, readings"):
        SolveSettings(n_factors=2, context_acts_on="air")


def test_the_estimator_takes_a_context_and_claims_at_its_average():
    problem = world_problem("batches", 5, n_samples=4000, n_variables=12, n_factors=2)
    data = problem.train.unstandardised()
    labels = [";".join(np.array(data.variable_names)[row]) for row in data.is_intervened]
    batch = [f"rep{b}" for b in problem.covariates["train"]["batch"]]
    model = UCAD(2, **LINEAR).fit(data.x, interventions=labels, context={"batch": batch})
    assert model.certificate_.may_claim("graph")
    test = problem.test.unstandardised()
    known = [f"rep{b}" for b in problem.covariates["test"]["batch"]]
    z = model.transform(test.x, context={"batch": known})
    assert mean_correlation(z, problem.factors).mean > 0.99
    assert mean_correlation(model.transform(test.x), problem.factors).mean < 0.95
