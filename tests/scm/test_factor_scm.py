import math

import numpy as np
import pytest
import torch
from hypothesis import given
from scipy.stats import norm

from tests.strategies import contexts, factor_scms, seeds
from ucad.data import Scaling
from ucad.errors import InvalidInputError
from ucad.scm import Abstraction, Bijection, FactorSCM, LinearMechanism, hard


def solve_node_by_node(scm: FactorSCM, u: torch.Tensor, values: dict) -> torch.Tensor:
    """The definition, slowly: repeat all equations until nothing changes any more."""
    x = u.clone()
    for _ in range(scm.graph.n_variables + 1):
        x = scm.expected_variables(scm.state_map(x)) + u
        for name, value in values.items():
            x[:, scm.graph.variable_index(name)] = value
    return x


@given(factor_scms(), seeds)
def test_the_solution_satisfies_all_equations(scm, seed):
    u = contexts(scm, seed)
    values = {"X1": 0.3, scm.graph.variable_names[-1]: -1.0}
    x, z = scm.solve(u, hard(values))
    torch.testing.assert_close(x, solve_node_by_node(scm, u, values))
    torch.testing.assert_close(z, scm.state_map(x))


@given(factor_scms(), seeds)
def test_abduction_finds_the_context(scm, seed):
    u = contexts(scm, seed)
    torch.testing.assert_close(scm.abduct(scm.solve(u).x), u)


@given(factor_scms(), seeds)
def test_doing_nothing_counterfactually_changes_nothing(scm, seed):
    x = scm.solve(contexts(scm, seed)).x
    torch.testing.assert_close(scm.counterfactual(x, {}).x, x)


@given(factor_scms(noise=0.4), seeds)
def test_a_counterfactual_changes_descendants_only(scm, seed):
    x = scm.solve(contexts(scm, seed)).x
    changed = scm.counterfactual(x, {"X1": 9.0}).x
    reach = np.eye(scm.graph.n_variables, dtype=bool)
    for _ in range(scm.graph.n_variables):
        reach = reach | (reach @ scm.graph.variable_adjacency)
    torch.testing.assert_close(changed[:, ~reach[0]], x[:, ~reach[0]])


def test_a_clamped_variable_has_no_context_to_abduct():
    scm = FactorSCM(*_pieces())
    clamped = np.array([[False, True, False]])
    assert scm.abduct(np.array([[1.0, 5.0, 5.0]]), clamped).tolist() == [[1.0, 0.0, 0.0]]


@given(factor_scms(noise=0.4), seeds)
def test_the_likelihood_is_that_of_scipy_without_the_clamped(scm, seed):
    x = contexts(scm, seed).numpy()
    clamped = np.random.default_rng(seed).random(x.shape) < 0.3
    mean = scm.expected_variables(scm.state_map(x)).numpy()
    terms = norm.logpdf(x, mean, scm.noise_scale.numpy())
    expected = np.where(clamped, 0.0, terms).sum(axis=1)
    np.testing.assert_allclose(scm.log_likelihood(x, clamped).numpy(), expected)
    assert scm.nll(x, clamped) == pytest.approx(-terms[~clamped].mean())


def test_noiseless_variables_get_the_variance_floor():
    scm = FactorSCM(*_pieces(noise=0.0))
    explained = 0.5 * math.log(2 * math.pi * 1e-4)
    assert scm.nll(np.zeros((1, 3))) == pytest.approx(explained)


def test_sampling_is_seeded_and_follows_the_noise():
    scm = FactorSCM(*_pieces())
    assert scm.sample(100, seed=1).x.equal(scm.sample(100, seed=1).x)
    assert not scm.sample(100, seed=1).x.equal(scm.sample(100, seed=2).x)
    x = scm.sample(200_000).x
    variances = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    torch.testing.assert_close(x.var(dim=0), variances, rtol=0.02, atol=0.0)


@given(factor_scms(), seeds)
def test_changing_units_and_back_changes_nothing(scm, seed):
    rng = np.random.default_rng(seed)
    n = scm.graph.n_variables
    scaling = Scaling(rng.normal(size=n), rng.uniform(0.1, 10, size=n))
    other = scm.in_original_units(scaling)
    x = scm.sample(30, seed).x
    raw = scaling.mean + scaling.scale * x.numpy()
    torch.testing.assert_close(other.state_map(raw), scm.state_map(x))
    expected = scm.expected_variables(scm.state_map(x)).numpy()
    np.testing.assert_allclose(
        other.expected_variables(other.state_map(raw)).numpy(),
        scaling.mean + scaling.scale * expected,
        atol=1e-9,
    )
    back = other.in_standard_units(scaling)
    torch.testing.assert_close(back.state_map(x), scm.state_map(x))
    torch.testing.assert_close(back.noise_scale, scm.noise_scale)


def _pieces(noise: float = 1.0):
    """X1 → Z1 → X2 → Z2 → X3 with unit weights."""
    from ucad.graph import FactorGraph

    Q = np.array([[1, 0], [0, 1], [0, 0]], dtype=bool)
    R = np.array([[0, 0], [1, 0], [0, 1]], dtype=bool)
    zeros = torch.zeros(3, dtype=torch.float64)
    return (
        FactorGraph(Q, R),
        LinearMechanism(torch.tensor(Q.T).double(), zeros[:2]),
        LinearMechanism(torch.tensor(R).double(), zeros),
        torch.full((3,), noise, dtype=torch.float64),
    )


def test_what_does_not_fit_the_graph_is_refused():
    graph, F_Z, F_X, noise = _pieces()
    everywhere = LinearMechanism(torch.ones(2, 3).double(), torch.zeros(2).double())
    with pytest.raises(InvalidInputError, match="zero where the graph has no edge"):
        FactorSCM(graph, everywhere, F_X, noise)
    with pytest.raises(InvalidInputError, match="must map 3 inputs to 2 targets"):
        FactorSCM(graph, F_X, F_X, noise)
    with pytest.raises(InvalidInputError, match="one entry a variable, 3"):
        FactorSCM(graph, F_Z, F_X, noise[:2])
    with pytest.raises(InvalidInputError, match="at least 0"):
        FactorSCM(graph, F_Z, F_X, -noise)
    broken = LinearMechanism(F_Z.weight * float("nan"), F_Z.bias)
    with pytest.raises(InvalidInputError, match="finite"):
        FactorSCM(graph, broken, F_X, noise)


def test_arbitrary_bijections_come_after_affine_maps():
    bent = FactorSCM(*_pieces()).reparametrised([Bijection(torch.exp, torch.log)] * 2)
    with pytest.raises(InvalidInputError, match="before arbitrary bijections"):
        bent.canonical(np.ones((3, 3)))
    with pytest.raises(InvalidInputError, match="No Lipschitz constant"):
        bent.factor_mechanism.lipschitz()


def test_the_models_of_both_levels_sample_by_themselves():
    abstraction = Abstraction(FactorSCM(*_pieces()))
    assert abstraction.low_level.sample(5).shape == (5, 3)
    assert abstraction.high_level.do({"Z1": 2.0}).sample(5)[:, 0].tolist() == [2.0] * 5
