"""The whole f-SCM in the making."""

import numpy as np
import pytest

from tests.solvers.search.two_factors import (
    CLASSES,
    children,
    linear,
    measured,
    model_of,
    problem_of,
)
from ucad.data import InterventionalData
from ucad.scm.families import EMPTY
from ucad.solvers.regression.fitting import THOROUGH
from ucad.solvers.search.model import (
    Edit,
    changed_factors,
    edited,
    fit_variables,
    polish,
    pseudo_target,
    refit,
    relabelled,
    target_from_children,
    unexplained,
)

TRUE = [([0], [1.0]), ([1], [1.0])]


@pytest.fixture(scope="module")
def problem():
    return problem_of(measured())


@pytest.fixture(scope="module")
def model(problem):
    return model_of(problem, TRUE, [2, 3], [4, 5])


def test_the_score_is_its_formula(problem, model):
    N, s0 = problem.data.n_samples, problem.floor
    weights = sum(len(f.weights) for f in (*model.factors, *model.variables))
    expected = -N / 2 * np.log(model.errors + s0).sum() - 6 * problem.penalty - weights / 2
    assert model.score == pytest.approx(expected)


def test_clamped_samples_count_in_no_error():
    data = measured()
    clamped = np.zeros(data.x.shape, dtype=bool)
    clamped[:100, 2] = True
    x = data.x.copy()
    x[:100, 2] = 3.0
    spoilt = InterventionalData.from_arrays(x, clamped)
    problem = problem_of(spoilt)
    model = fit_variables(problem, [linear(data, *TRUE[0])], children([2]), THOROUGH)
    assert model.errors[2] < 0.15
    free = ~clamped[:, 2]
    left = (x[:, 2] - model.variables[2].values(model.state))[free]
    assert model.errors[2] == pytest.approx(np.mean(left**2))


def test_the_graph_is_read_off_the_functions(model):
    assert np.argwhere(model.Q).tolist() == [[0, 0], [1, 1]]
    assert (children([2, 3], [4, 5]) == model.R).all()
    assert model.is_used.all()


def test_a_factor_without_parents_or_children_is_not_used(problem):
    made = fit_variables(
        problem, [EMPTY, linear(problem.data, [1], [1.0])], children([], []), THOROUGH
    )
    assert not made.is_used.any()


def test_an_edit_fits_what_it_touches_and_nothing_else(problem, model):
    after, touched = edited(problem, model, Edit(children([2, 3, 6], [4, 5])), THOROUGH)
    assert touched == {6}
    assert after.variables[2] is model.variables[2]
    assert after.variables[6].parents.tolist() == [0]
    new = Edit(model.R, {0: linear(problem.data, [0, 7], [1.0, 0.1])})
    assert edited(problem, model, new, THOROUGH)[1] == {2, 3}


def test_relabelling_moves_factors_with_their_functions(problem, model):
    turned = relabelled(model, np.array([1, 0]))
    assert (model.Q[:, ::-1] == turned.Q).all()
    assert (model.R[:, ::-1] == turned.R).all()
    for old, new in zip(model.variables, turned.variables, strict=True):
        np.testing.assert_allclose(new.values(turned.state), old.values(model.state))


def test_only_factors_with_other_edges_have_changed(problem, model):
    assert changed_factors(None, model) == [0, 1]
    assert changed_factors(model, relabelled(model, np.array([1, 0]))) == []
    other = model_of(problem, TRUE, [2, 3], [4])
    assert changed_factors(model, other) == [1]


def test_refitting_from_wrong_functions_gives_the_errors_back(problem, model):
    wrong = model.with_factor(0, linear(problem.data, [0], [-1.0]), problem.data.x)
    again = refit(problem, wrong, np.array([2, 3]), THOROUGH)
    assert again.score == pytest.approx(model.score)


def test_what_is_unexplained_has_the_errors_of_the_model(problem, model):
    left = unexplained(problem, model)
    np.testing.assert_allclose((left**2).mean(axis=0), model.errors)


def test_children_say_what_their_factor_is(problem, model):
    """For linear children, one Gauss–Newton step leads to the best factor there is."""
    said = target_from_children(problem, model, 0)
    x = problem.data.x
    assert np.corrcoef(said.target, x[:, 2] + x[:, 3])[0, 1] > 0.999
    exact = pseudo_target(np.zeros(3), np.full((3, 1), 2.0), np.full((3, 1), 4.0), np.ones(1))
    np.testing.assert_allclose(exact.target, 2.0)


@pytest.mark.parametrize("families", CLASSES.values(), ids=CLASSES)
def test_polishing_raises_the_score_and_keeps_the_graph(families):
    problem = problem_of(measured(n_samples=400), families)
    factors = [linear(problem.data, [0, 1], [1.0, 0.4]), linear(problem.data, [1], [1.0])]
    rough, _ = problem.efforts()
    start = fit_variables(problem, factors, children([2, 3], [4, 5]), rough)
    better = polish(problem, start, rough, 2)
    assert better.score > start.score + 10
    assert (better.Q == start.Q).all()
    assert (better.R == start.R).all()
