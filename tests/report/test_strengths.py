"""How strongly edges act, against finite differences and standardised weights."""

import numpy as np
import pytest
import torch

from tests.claims.models import Formula
from tests.report.models import SMALL, truth_of
from ucad.data import InterventionalData
from ucad.graph import FactorGraph
from ucad.report.strengths import edge_strengths, some_rows
from ucad.scm import FactorSCM, LinearMechanism


def bent(function):
    """X1 → Z1 → X2 with Z1 a function of X1, and data from −2 to 2."""
    graph = FactorGraph(np.array([[True], [False]]), np.array([[False], [True]]))
    F_Z = Formula((lambda v: function(v[:, 0]),), graph.Q.T)
    F_X = LinearMechanism(torch.tensor([[0.0], [-2.0]]).double(), torch.zeros(2).double())
    scm = FactorSCM(graph, F_Z, F_X, torch.ones(2).double())
    x = np.column_stack([np.linspace(-2, 2, 401), np.linspace(0, 3, 401)])
    return edge_strengths(scm, InterventionalData.from_arrays(x)), x


def test_a_factor_that_goes_up_and_down_is_marked_and_its_effect_is_not():
    """d(x²)/dx = 2x, of mean square 4 · E x²."""
    found, x = bent(torch.square)
    z = x[:, 0] ** 2
    expected = 2 * np.sqrt((x[:, 0] ** 2).mean()) * x[:, 0].std() / z.std()
    assert abs(found.into[0, 0]) == pytest.approx(expected)
    assert found.into_mixed[0, 0]
    assert not found.out_of_mixed[1, 0]
    assert found.out_of[1, 0] == pytest.approx(-2 * z.std() / x[:, 1].std())


def test_a_monotone_factor_is_not_marked_and_has_the_sign_of_its_slope():
    found, _ = bent(lambda v: -torch.exp(v))
    assert found.into[0, 0] < 0
    assert not found.into_mixed[0, 0]


def test_a_factor_that_never_varies_has_no_infinite_strength():
    found, _ = bent(lambda v: 0 * v + 3.0)
    assert found.into[0, 0] == 0
    assert np.isfinite(found.out_of).all()


@pytest.mark.parametrize(("n", "most"), [(10, 10), (10, 3), (1000, 7), (4, 500)])
def test_some_rows_are_different_and_reach_from_the_first_to_the_last(n, most):
    rows = some_rows(InterventionalData.from_arrays(np.arange(2.0 * n).reshape(n, 2)), most)
    assert len(set(rows)) == len(rows) == min(n, most)
    assert (rows[0], rows[-1]) == (0, n - 1)


def test_without_factors_there_is_nothing_to_be_strong():
    graph = FactorGraph(np.zeros((3, 0), dtype=bool), np.zeros((3, 0), dtype=bool))
    empty = [
        LinearMechanism(torch.zeros(s).double(), torch.zeros(s[0]).double())
        for s in ((0, 3), (3, 0))
    ]
    scm = FactorSCM(graph, *empty, torch.ones(3).double())
    found = edge_strengths(scm, InterventionalData.from_arrays(np.eye(3)))
    assert [matrix.shape for matrix in found] == [(3, 0)] * 4


def test_the_strength_of_a_linear_edge_is_its_standardised_weight():
    scm, data = truth_of(SMALL[0])
    strengths = edge_strengths(scm, data)
    z = scm.state_map(data.x).numpy()
    assert isinstance(scm.factor_mechanism, LinearMechanism)
    into = scm.factor_mechanism.weight.numpy().T * data.x.std(axis=0)[:, None] / z.std(axis=0)
    out_of = scm.variable_mechanism.weight.numpy() * z.std(axis=0) / data.x.std(axis=0)[:, None]
    np.testing.assert_allclose(strengths.into, into, atol=1e-12)
    np.testing.assert_allclose(strengths.out_of, out_of, atol=1e-12)
    assert not strengths.into_mixed.any()


@pytest.mark.parametrize("setting", ["f", "g"])
def test_the_strength_of_any_edge_is_the_root_mean_square_of_finite_differences(setting):
    scm, data = truth_of((setting, "16-3", 0))
    data = data.select(np.arange(300))
    strengths, step = edge_strengths(scm, data), 1e-5
    x, z = torch.tensor(data.x), scm.state_map(data.x)
    for i, k in np.argwhere(scm.graph.Q):
        shift = torch.zeros_like(x)
        shift[:, i] = step
        slope = (scm.state_map(x + shift) - scm.state_map(x - shift))[:, k] / (2 * step)
        expected = slope.square().mean().sqrt() * x[:, i].std(correction=0)
        expected = expected / z[:, k].std(correction=0)
        assert abs(strengths.into[i, k]) == pytest.approx(float(expected), rel=1e-5)
    for j, k in np.argwhere(scm.graph.R):
        shift = torch.zeros_like(z)
        shift[:, k] = step
        forth, back = (scm.expected_variables(z + s * shift)[:, j] for s in (1, -1))
        slope = (forth - back) / (2 * step)
        expected = slope.square().mean().sqrt() * z[:, k].std(correction=0)
        expected = expected / x[:, j].std(correction=0)
        assert abs(strengths.out_of[j, k]) == pytest.approx(float(expected), rel=1e-5)
