import numpy as np
import pytest

from ucad.errors import InvalidInputError, SimulationError
from ucad.graph import FactorGraph
from ucad.simulate.worlds import planted_problem
from ucad.simulate.worlds.experiment import Doing, Experiment, one_by_one
from ucad.simulate.worlds.functions import FUNCTIONS, WeightedFunction
from ucad.simulate.worlds.linear import linear_model
from ucad.simulate.worlds.settings import changes_from_text
from ucad.simulate.worlds.system import solve


def chain_model(seed=0):
    """X1, X2 → Z1 → X3, X4; X3 → Z2 → X5."""
    Q = np.array([[1, 0], [1, 0], [0, 1], [0, 0], [0, 0]], dtype=bool)
    R = np.array([[0, 0], [0, 0], [1, 0], [1, 0], [0, 1]], dtype=bool)
    return linear_model(FactorGraph(Q, R), (0.5, 0.9), np.random.default_rng(seed))


def test_sweeps_solve_what_the_factor_scm_solves():
    model = chain_model()
    u = np.random.default_rng(1).standard_normal((50, 5))
    x, z, _ = solve(model.system(), u, Doing.nothing(50, 5))
    expected = model.scm.solve(u)
    np.testing.assert_allclose(x, expected.x.numpy(), atol=1e-12)
    np.testing.assert_allclose(z, expected.z.numpy(), atol=1e-12)


def test_sweeps_solve_what_the_factor_scm_solves_under_a_clamp():
    model = chain_model()
    u = np.random.default_rng(1).standard_normal((50, 5))
    doing = Doing.nothing(50, 5)
    doing.keep[:, 2], doing.offset[:, 2] = 0.0, -3.0
    expected = model.scm.solve(u, {"X3": -3.0})
    np.testing.assert_allclose(solve(model.system(), u, doing).x, expected.x.numpy(), atol=1e-12)
    assert not np.allclose(solve(model.system(), u, Doing.nothing(50, 5)).x, expected.x.numpy())


def test_every_variable_and_factor_has_variance_one():
    model = chain_model(3)
    x, z, _ = model.system().sample(Doing.nothing(40_000, 5), np.random.default_rng(0))
    np.testing.assert_allclose(x.var(axis=0), 1.0, atol=0.04)
    np.testing.assert_allclose(z.var(axis=0), 1.0, atol=0.04)


def test_too_strong_a_feedback_is_refused():
    assert planted_problem(0, flaw="feedback", strength=0.3, n_samples=210).n_factors == 3
    with pytest.raises(SimulationError, match="Use a weaker feedback"):
        planted_problem(0, flaw="feedback", strength=1e3, n_samples=210)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_depends_on_its_inputs_and_on_no_others(name):
    weight = np.array([[1.0, -1.0, 0.0, 0.8], [0.0, 0.0, 1.0, 0.0]])
    function = WeightedFunction(name, weight)
    rng = np.random.default_rng(0)
    v = rng.standard_normal((300, 4))
    before = function(v)
    for i in range(4):
        changed = v.copy()
        changed[:, i] = rng.standard_normal(300)
        moves = ~np.isclose(function(changed), before).all(axis=0)
        np.testing.assert_array_equal(moves, weight[:, i] != 0)


def test_what_fails_or_is_not_labelled_is_not_what_the_data_say():
    targets, regime = one_by_one(np.array([0]), 2, samples_per_regime=1000, n_control=10)
    extra = np.array([[False, False], [False, True]])
    experiment = Experiment(
        targets=targets, regime=regime, action="constant", failure=0.3, unlabelled=extra
    )
    keep, _ = experiment.doing(np.zeros(2), np.ones(2), np.random.default_rng(0))
    assert experiment.is_acted_on.sum(axis=0).tolist() == [1000, 0]
    acted = (keep == 0).sum(axis=0)
    assert 600 < acted[0] < 800
    assert acted[0] == acted[1]


def test_settings_are_read_from_text_or_refused():
    assert changes_from_text(["noise=student-t", "n_regimes=0", "value=-1.5"]) == {
        "noise": "student-t",
        "n_regimes": 0,
        "value": -1.5,
    }
    for wrong in ("parents", "=3", "parents="):
        with pytest.raises(InvalidInputError, match="given as name=value"):
            changes_from_text([wrong])
