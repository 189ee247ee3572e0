import numpy as np
import pytest

from ucad.errors import InvalidInputError, SimulationError
from ucad.scm import LinearMechanism, MLPMechanism
from ucad.simulate import (
    SETTINGS,
    GraphRecipe,
    paper_problem,
    random_factor_graph,
    random_targets,
)


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_is_what_its_row_says(setting):
    row = SETTINGS[setting]
    problem = paper_problem(setting, "16-3", seed=5, n_samples=2000)
    scm, train = problem.scm, problem.train
    assert scm.graph.has_anchors
    assert isinstance(scm.factor_mechanism, LinearMechanism if row.linear_factors else MLPMechanism)
    assert isinstance(
        scm.variable_mechanism, LinearMechanism if row.linear_variables else MLPMechanism
    )
    assert (train.layer_of is not None) == row.layered
    if row.layered:
        assert np.bincount(train.layer_of).tolist() == [4, 8, 4]
        assert scm.graph.respects_layers(train.layer_of)
    child = scm.graph.R.any(axis=1)
    assert (scm.noise_scale.numpy()[child] > 0).all() == (row.noise_scale > 0)
    assert train.is_intervened.any() == (not row.observational_only)
    np.testing.assert_allclose(train.x.std(axis=0), 1.0)
    np.testing.assert_array_equal(scm.state_map(problem.test.x).numpy(), problem.factors)


@pytest.mark.parametrize("setting", ["a", "d"])
def test_noiseless_data_obey_the_true_equations(setting):
    problem = paper_problem(setting, "64-6", seed=2, n_samples=1000)
    for data in (problem.train, problem.validation, problem.test):
        residual = problem.scm.abduct(data.x, data.is_intervened).numpy()
        assert np.abs(residual[:, problem.scm.graph.R.any(axis=1)]).max() < 1e-9


def test_the_test_set_is_observational_except_for_unseen_regimes():
    assert not paper_problem("b", "16-3", seed=0, n_samples=500).test.is_intervened.any()
    problem = paper_problem("i", "64-6", seed=0)
    present = [set(np.unique(p.regime)) for p in (problem.train, problem.validation, problem.test)]
    assert [len(regimes) for regimes in present] == [47, 6, 12]
    assert not set.intersection(*present)


def test_the_same_seed_makes_the_same_problem_and_another_does_not():
    one, two = (paper_problem("e", "16-3", seed=4, n_samples=300) for _ in range(2))
    assert one.train.fingerprint == two.train.fingerprint
    other = paper_problem("e", "16-3", seed=5, n_samples=300)
    assert other.train.fingerprint != one.train.fingerprint


def test_at_least_two_parents_can_be_asked_for():
    problem = paper_problem("b", "64-6", seed=0, n_samples=300, min_parents=2)
    assert problem.scm.graph.Q.sum(axis=0).min() >= 2


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


def test_unknown_settings_get_a_suggestion():
    with pytest.raises(InvalidInputError, match="one of a, b, c"):
        paper_problem("z", "16-3", seed=0)
    with pytest.raises(InvalidInputError, match="Did you mean '64-6'"):
        paper_problem("a", "64-5", seed=0)
