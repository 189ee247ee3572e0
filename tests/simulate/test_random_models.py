"""Random f-SCMs: graphs that keep what the recipe asks, mechanisms and data of their laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.claims.models import SCM
from tests.strategies import seeds
from ucad.errors import InvalidInputError, SimulationError
from ucad.graph import FactorGraph, topological_levels
from ucad.simulate.random_models import (
    GraphRecipe,
    MechanismRecipe,
    random_factor_graph,
    random_factor_scm,
    random_targets,
    simulate,
)


@settings(max_examples=15)
@given(seeds, st.integers(1, 3), st.sampled_from([None, (4, 4, 4), (6, 6)]), st.integers(1, 2))
def test_a_drawn_graph_is_a_dag_with_all_that_is_asked_of_it(
    seed, n_factors, layer_sizes, min_parents
):
    recipe = GraphRecipe(
        n_variables=12,
        n_factors=n_factors,
        edge_probability=0.3,
        layer_sizes=layer_sizes,
        min_parents=min_parents,
    )
    graph = random_factor_graph(recipe, np.random.default_rng(seed))
    assert topological_levels(graph.variable_adjacency) is not None
    assert (graph.Q.sum(axis=0) >= min_parents).all()
    assert graph.R.any(axis=0).all()
    assert graph.has_anchors
    if layer_sizes is not None:
        layer = np.repeat(np.arange(len(layer_sizes)), layer_sizes)
        assert (layer[:, None] < layer)[graph.variable_adjacency].all()


def test_edges_have_the_probability_asked_for():
    """Over many graphs, half of all pairs are allowed as a parent, half as a child."""
    recipe = GraphRecipe(n_variables=30, n_factors=4, edge_probability=0.4, anchored=False)
    rng = np.random.default_rng(0)
    graphs = [random_factor_graph(recipe, rng) for _ in range(150)]
    for name in ("Q", "R"):
        share = np.mean([getattr(graph, name).mean() for graph in graphs])
        assert share == pytest.approx(0.2, abs=0.03)


def test_linear_weights_are_between_a_quarter_and_one_with_both_signs():
    graph = FactorGraph(SCM.graph.Q, SCM.graph.R)
    rng = np.random.default_rng(0)
    weights = []
    for _ in range(100):
        scm = random_factor_scm(graph, MechanismRecipe(), rng)
        for found, edges in (
            (scm.factor_mechanism.weight.numpy(), graph.Q.T),
            (scm.variable_mechanism.weight.numpy(), graph.R),
        ):
            np.testing.assert_array_equal(found != 0, edges)
            weights.append(found[edges])
    size = np.abs(np.concatenate(weights))
    assert 0.25 <= size.min() < 0.27
    assert 0.98 < size.max() <= 1.0
    assert size.mean() == pytest.approx(0.625, abs=0.02)
    assert (np.concatenate(weights) > 0).mean() == pytest.approx(0.5, abs=0.06)


def test_networks_read_their_parents_alone():
    graph = SCM.graph
    recipe = MechanismRecipe(linear_factors=False, linear_variables=False)
    scm = random_factor_scm(graph, recipe, np.random.default_rng(0))
    np.testing.assert_array_equal(scm.factor_mechanism.uses().numpy() > 0, graph.Q.T)
    np.testing.assert_array_equal(scm.variable_mechanism.uses().numpy() > 0, graph.R)
    v = np.random.default_rng(1).standard_normal((6, 8))
    w1, w2 = scm.factor_mechanism.w1.numpy(), scm.factor_mechanism.w2.numpy()
    expected = [[w2[t] @ np.tanh(w1[t] @ sample) for t in range(2)] for sample in v]
    np.testing.assert_allclose(scm.state_map(v).numpy(), expected)


@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_roots_have_noise_of_their_own_beside_that_of_all(noise):
    recipe = MechanismRecipe(root_scale=2.0, noise_scale=noise)
    scm = random_factor_scm(SCM.graph, recipe, np.random.default_rng(0))
    is_root = ~SCM.graph.R.any(axis=1)
    expected = np.where(is_root, np.hypot(noise, 2.0), noise)
    np.testing.assert_allclose(scm.noise_scale, expected)


def test_clamps_are_fresh_standard_normal_draws_that_children_see_and_parents_do_not():
    targets = np.zeros((2, 8), dtype=bool)
    targets[1, 4] = True  # X5, a child of Z1 and a parent of Z2
    data = simulate(SCM, targets, np.repeat([0, 1], 4000), seed=3)
    clamped = data.x[data.regime == 1]
    np.testing.assert_array_equal(data.is_intervened, targets[data.regime])
    assert clamped[:, 4].mean() == pytest.approx(0.0, abs=0.06)
    assert clamped[:, 4].std() == pytest.approx(1.0, abs=0.05)
    correlation = np.corrcoef(clamped.T)[4]
    assert np.abs(correlation[[0, 1, 2, 3, 5]]).max() < 0.06  # X6 shares only Z1 with it
    assert (correlation[[6, 7]] > 0.2).all()


def test_every_sample_is_where_its_regime_says():
    """Regimes may be mixed; a constant model shows which rows were drawn under which clamp."""
    regime = np.array([1, 0, 2, 1, 0])
    targets = np.zeros((3, 8), dtype=bool)
    targets[1, 0] = targets[2, 1] = True
    data = simulate(SCM, targets, regime, seed=0)
    alone = simulate(SCM, targets, np.sort(regime), seed=0)
    np.testing.assert_array_equal(data.x[np.argsort(regime, kind="stable")], alone.x)


@given(seeds, st.integers(1, 5), st.integers(1, 4))
def test_regimes_never_clamp_more_than_allowed_or_there_is(seed, n_variables, most):
    targets = random_targets(6, n_variables, np.random.default_rng(seed), most=most)
    sizes = targets.sum(axis=1)
    assert sizes[0] == 0
    assert (sizes[1:] >= 1).all()
    assert sizes.max() <= min(most, n_variables)


def test_regimes_clamp_one_to_three_variables():
    counts = random_targets(200, 16, np.random.default_rng(0)).sum(axis=1)
    assert counts[0] == 0
    assert set(counts[1:]) == {1, 2, 3}


def test_a_graph_that_cannot_be_drawn_says_why():
    recipe = GraphRecipe(n_variables=8, n_factors=6, edge_probability=0.9, max_attempts=200)
    with pytest.raises(SimulationError, match="None of 200 .* in-anchors in .*%.* Use more variab"):
        random_factor_graph(recipe, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_factors": 0}, "'n_factors' must be at least 1"),
        ({"n_variables": 3}, "3 factors need at least 4 variables"),
        ({"edge_probability": 0.0}, "above 0 and at most 1"),
        ({"layer_sizes": (16,)}, "two or more that sum to 16"),
        ({"layer_sizes": (8, 9)}, "two or more that sum to 16"),
        ({"min_parents": 0}, "'min_parents' must be at least 1"),
    ],
)
def test_impossible_recipes_are_refused(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        GraphRecipe(**({"n_variables": 16, "n_factors": 3} | settings))
