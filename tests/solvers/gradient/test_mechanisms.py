"""Mechanisms of many configurations at once."""

import torch

from ucad.scm.families import NETWORK
from ucad.solvers.gradient.mechanisms import (
    initial_parameters,
    predict_factors,
    predict_variables,
)
from ucad.solvers.gradient.settings import ModelSettings

CURVED = ModelSettings(factor_family=NETWORK, variable_family=NETWORK, hidden=4)


def test_a_start_depends_on_its_own_seed_alone():
    together, alone = (
        initial_parameters(CURVED, 5, 2, [3, 7]),
        initial_parameters(CURVED, 5, 2, [7]),
    )
    for name, value in alone.items():
        torch.testing.assert_close(together[name][1:], value)


def test_every_configuration_predicts_what_it_would_alone():
    start = initial_parameters(CURVED, 5, 2, [0, 1])
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(9, 5, generator=generator, dtype=torch.float64)
    Q, R = torch.rand(2, 2, 5, 2, generator=generator, dtype=torch.float64)
    both = predict_variables(start, R, predict_factors(start, Q, x))
    second = {name: value[1:] for name, value in start.items()}
    one = predict_variables(second, R[1:], predict_factors(second, Q[1:], x))
    torch.testing.assert_close(both[1:], one)


def test_a_variable_without_an_edge_has_no_influence():
    start = initial_parameters(CURVED, 5, 2, [0])
    x = torch.ones(3, 5, dtype=torch.float64)
    Q = torch.ones(1, 5, 2, dtype=torch.float64)
    Q[0, 4] = 0
    changed = x.clone()
    changed[:, 4] = 9.0
    torch.testing.assert_close(predict_factors(start, Q, x), predict_factors(start, Q, changed))
