"""The solvers for layers, by name."""

import numpy as np
import pytest

from ucad.errors import InvalidInputError
from ucad.solvers import SolveSettings, solve


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
