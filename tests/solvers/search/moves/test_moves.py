"""Every move of the search, driven through the same claims: a new one is tested by its entry."""

from dataclasses import replace

import numpy as np
import pytest

from tests.solvers.search.two_factors import (
    CLASSES,
    N_VARIABLES,
    children,
    linear,
    measured,
    model_of,
    move_named,
    problem_of,
)
from ucad.graph import boolean_product, topological_levels
from ucad.solvers.prior import PriorKnowledge
from ucad.solvers.regression.fitting import Regression, unit_variance
from ucad.solvers.search.improve import improve, tried
from ucad.solvers.search.model import fit_variables
from ucad.solvers.search.moves import moves_for

RIGHT = children([2, 3], [4, 5])
NAMES = [move.name for move in moves_for(())]


def curved(problem, factor):
    """The same factor as a function of the family asked for."""
    if problem.factor_family.is_affine:
        return factor
    x = problem.data.x
    fitter = problem.fitter(problem.factor_family)
    own = Regression(factor.values(x), np.ones(len(x)))
    return unit_variance(fitter.fit(x, factor.parents, own), x)


def wrong_models(problem):
    """Models each of which some move should better: a sum for a factor, and too few edges."""
    data = problem.data
    _, effort = problem.efforts()
    for factors, R in [
        (([0, 1], [1.0, 1.0]), children([2, 3, 5], [4])),
        (([0, 7], [1.0, 0.3]), children([2], [4, 5])),
        (([6], [1.0]), children([7], [4])),
    ]:
        made = [linear(data, *factors), linear(data, [1], [1.0])]
        yield fit_variables(problem, [curved(problem, f) for f in made], R, effort)


def is_valid(problem, model):
    """Acyclic, with parents that fit Q and R, and finite throughout."""
    functions = (*model.factors, *model.variables)
    numbers = [model.state, model.errors, *(f.weights for f in functions)]
    return (
        topological_levels(boolean_product(model.R.T, model.Q)) is not None
        and all(np.isfinite(part).all() for part in numbers)
        and np.isfinite(model.score)
        and all(
            (np.flatnonzero(column) == np.sort(f.parents)).all()
            for column, f in zip(model.Q.T, model.factors, strict=True)
        )
        and all(
            (np.flatnonzero(row) == np.sort(g.parents)).all()
            for row, g in zip(model.R, model.variables, strict=True)
        )
        and np.allclose(
            model.state,
            np.stack([f.values(problem.data.x) for f in model.factors], axis=1),
            atol=1e-5,
        )
    )


@pytest.mark.parametrize("families", CLASSES.values(), ids=CLASSES)
@pytest.mark.parametrize("name", NAMES)
def test_a_move_is_admissible_never_lowers_the_score_and_leaves_a_valid_model(name, families, data):
    problem = problem_of(data, families)
    move = move_named(name, data)
    for model in wrong_models(problem):
        for edit in move.propose(problem, model, range(2)):
            trial = tried(problem, model, edit)
            if trial is not None:
                assert problem.admissible.allows(trial.Q, trial.R)
                assert is_valid(problem, trial)
        better, again = (improve(problem, model, [move]) for _ in range(2))
        assert better.score >= model.score
        assert is_valid(problem, better)
        assert problem.admissible.allows(better.Q, better.R)
        assert again.score == better.score
        assert (again.Q == better.Q).all()
        assert (again.R == better.R).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_move_obeys_layers_and_a_prior_that_names_its_factors(name, data):
    """Were it not for them, x0 would be a parent that pays: see the last assertion."""
    layered = replace(data, layer_of=np.array([1, 0, 1, 1, 1, 1, 0, 0]))
    forbidden = np.zeros((N_VARIABLES, 2), dtype=bool)
    forbidden[0] = True
    prior = PriorKnowledge(forbidden_parent=forbidden)
    free = problem_of(data)
    for known in (problem_of(layered), problem_of(data, prior=prior)):
        problem = replace(known, admissible=known.admissible.labelled())
        model = model_of(problem, [([6], [1.0]), ([7], [1.0])], [2, 3], [4])
        assert problem.admissible.allows(model.Q, model.R)
        better = improve(problem, model, [move_named(name, data)])
        assert problem.admissible.allows(better.Q, better.R)
        right = fit_variables(
            free, [linear(data, [0], [1.0]), linear(data, [1], [1.0])], RIGHT, free.efforts()[1]
        )
        assert not problem.admissible.allows(right.Q, right.R)
        assert right.score > better.score


def test_moves_have_different_names():
    assert len(set(NAMES)) == len(NAMES)


def test_a_factor_is_taken_out_of_one_that_contains_it():
    def sum_of_both(x, noise):
        x[:, 2:4] = x[:, [0]] + x[:, [1]] + noise[:, 2:4]

    data = measured(sum_of_both, n_samples=500)
    problem = problem_of(data)
    model = model_of(problem, [([0, 1], [1.0, 1.0]), ([1], [1.0])], [2, 3], [4, 5])
    better = improve(problem, model, [move_named("separate factors", data)])
    alone = problem.admissible.allows(better.Q, better.R)
    assert alone
    proposals = list(move_named("separate factors", data).propose(problem, model, [0]))
    assert [0] in [edit.factors[0].parents.tolist() for edit in proposals]
    assert not list(move_named("separate factors", data).propose(problem, model, [1]))


def test_a_useless_factor_makes_room_for_a_candidate(data):
    problem = problem_of(data)
    model = model_of(problem, [([6], [1.0]), ([1], [1.0])], [7], [4, 5])
    better = improve(problem, model, [move_named("another factor", data)])
    assert better.factors[0].parents.tolist() == [0]
    assert better.R[[2, 3], 0].all()
