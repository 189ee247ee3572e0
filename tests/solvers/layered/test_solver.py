"""The solvers for layers, by name."""

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.errors import InvalidInputError
from ucad.solvers import SolveSettings, solve


@pytest.fixture(scope="module")
def mixed():
    """A coin and a uniform number, mixed densely into 6 units, remade as 6 rectified units."""
    rng = np.random.default_rng(0)
    z = np.c_[rng.choice([-1.0, 1.0], 4000), rng.uniform(-1.7, 1.7, 4000)]
    first = z @ rng.normal(size=(2, 6)) + 0.05 * rng.normal(size=(4000, 6))
    clamped = np.zeros((4000, 12), dtype=bool)
    for unit in range(6):
        rows = slice(3000 + 100 * unit, 3100 + 100 * unit)
        first[rows, unit] = rng.permutation(first[:100, unit])
        clamped[rows, unit] = True
    reading = np.linalg.pinv(rng.normal(size=(2, 6)))
    second = np.maximum(0, first @ reading @ rng.normal(size=(2, 6)) + rng.normal(size=6))
    data = InterventionalData.from_arrays(np.c_[first, second], clamped, layer_of=[0] * 6 + [1] * 6)
    return data, z


def test_solve_knows_the_solvers_between_layers(mixed):
    data, _ = mixed
    standard = data.standardised()
    for solver in ("bottleneck", "switch", "rectified"):
        asked = SolveSettings(n_factors=2, solver=solver)
        assert solve(standard, asked, validation=standard).scm.graph.n_factors == 2
    wrong = SolveSettings(n_factors=2, solver="bottleneck", factor_mechanism="mlp")
    with pytest.raises(InvalidInputError, match="'factor_mechanism' parameter must be linear"):
        solve(standard, wrong, validation=standard)
    wrong = SolveSettings(n_factors=2, solver="switch", factor_mechanism="linear")
    with pytest.raises(InvalidInputError, match="'factor_mechanism' parameter must be mlp"):
        solve(standard, wrong, validation=standard)


def test_the_solver_called_switch_makes_the_coin_a_binary_factor(mixed):
    data, z = mixed
    standard = data.standardised()
    asked = SolveSettings(n_factors=2, solver="switch")
    result = solve(standard, asked, validation=standard)
    first = result.scm.state_map(standard.x[:3000])[:, 0].numpy()
    assert result.history[0]["binary_factor"] == "yes"
    assert abs(np.corrcoef(first, z[:3000, 0])[0, 1]) > 0.99
