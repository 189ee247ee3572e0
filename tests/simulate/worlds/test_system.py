import numpy as np
import pytest

from tests.simulate.worlds.made_worlds import chain_model
from ucad.errors import InvalidInputError, SimulationError
from ucad.simulate.worlds import planted_problem
from ucad.simulate.worlds.experiment import Doing
from ucad.simulate.worlds.settings import changes_from_text
from ucad.simulate.worlds.system import solve


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


def test_too_strong_a_feedback_is_refused():
    assert planted_problem(0, flaw="feedback", strength=0.3, n_samples=210).n_factors == 3
    with pytest.raises(SimulationError, match="Use a weaker feedback"):
        planted_problem(0, flaw="feedback", strength=1e3, n_samples=210)


def test_settings_are_read_from_text_or_refused():
    assert changes_from_text(["noise=student-t", "n_regimes=0", "value=-1.5"]) == {
        "noise": "student-t",
        "n_regimes": 0,
        "value": -1.5,
    }
    for wrong in ("parents", "=3", "parents="):
        with pytest.raises(InvalidInputError, match="given as name=value"):
            changes_from_text([wrong])
