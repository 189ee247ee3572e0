import numpy as np
import pytest
import torch
from hypothesis import given

from tests.strategies import factor_scms, seeds
from ucad.scm import AffineMap, LinearMechanism, MLPMechanism
from ucad.simulate import MechanismRecipe, paper_problem, random_factor_scm

MECHANISMS = [True, False]


def make(linear: bool, seed: int = 0):
    graph = paper_problem("b", "16-3", seed=0, n_samples=200).scm.graph
    recipe = MechanismRecipe(linear_factors=linear, linear_variables=linear)
    return random_factor_scm(graph, recipe, np.random.default_rng(seed)).variable_mechanism


@pytest.mark.parametrize("linear", MECHANISMS)
def test_some_targets_are_the_columns_of_all(linear):
    mechanism, inputs = make(linear), torch.randn(9, 3, dtype=torch.float64)
    some = torch.tensor([5, 0, 11])
    torch.testing.assert_close(mechanism(inputs, some), mechanism(inputs)[:, some])
    assert mechanism(inputs, torch.tensor([], dtype=torch.int64)).shape == (9, 0)


@pytest.mark.parametrize("linear", MECHANISMS)
def test_affine_maps_fold_into_the_weights(linear):
    mechanism, inputs = make(linear), torch.randn(9, 3, dtype=torch.float64)
    inner = AffineMap(torch.rand(3).double() + 0.5, torch.randn(3).double())
    outer = AffineMap(torch.rand(16).double() + 0.5, torch.randn(16).double())
    folded = mechanism.before(inner).after(outer)
    by_hand = outer.scale * mechanism(inner.scale * inputs + inner.shift) + outer.shift
    torch.testing.assert_close(folded(inputs), by_hand)
    back = folded.after(outer.inverse()).before(inner.inverse())
    torch.testing.assert_close(back(inputs), mechanism(inputs))


def test_a_network_is_evaluated_in_blocks_of_bounded_memory(monkeypatch):
    mechanism, inputs = make(linear=False), torch.randn(50, 3, dtype=torch.float64)
    whole = mechanism(inputs)
    monkeypatch.setattr("ucad.scm.families.network._BLOCK_ELEMENTS", 16 * 16 * 7)
    torch.testing.assert_close(mechanism(inputs), whole)


@given(factor_scms(), seeds)
def test_a_mechanism_uses_only_what_the_graph_allows(scm, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(5, scm.graph.n_variables, generator=generator, dtype=torch.float64)
    for k, z in enumerate(scm.graph.factor_names):
        moved = x + torch.from_numpy(~scm.graph.Q[:, k]).double()
        assert scm.state_map(moved)[:, k].equal(scm.state_map(x)[:, k]), z


def test_the_linear_lipschitz_constant_is_attained():
    mechanism = LinearMechanism(torch.tensor([[3.0, 4.0]]), torch.zeros(1))
    direction = mechanism.weight / mechanism.lipschitz()
    assert float(mechanism(direction) - mechanism(0 * direction)) == pytest.approx(5.0)


def test_only_linear_mechanisms_are_affine():
    assert make(linear=True).is_affine
    assert not make(linear=False).is_affine
    assert isinstance(make(linear=False), MLPMechanism)
