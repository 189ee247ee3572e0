"""Every world through the same claims."""

from pathlib import Path

import numpy as np
import pytest

from ucad.errors import InvalidInputError
from ucad.graph import topological_levels
from ucad.simulate.worlds import WORLDS, Genes, Screen, Violation, world_problem

SMALL = {
    Screen: {"n_control": 200, "samples_per_regime": 15},
    Genes: {"targets": 20, "n_control": 100, "samples_per_regime": 10, "n_knockouts": 6},
}


def make(name, seed=11):
    return world_problem(name, seed, **SMALL.get(type(WORLDS[name].settings), {}))


@pytest.fixture(scope="module", params=WORLDS)
def problem(request):
    return make(request.param)


def test_a_seed_makes_the_same_world_and_another_seed_another(problem):
    again, other = make(problem.name), make(problem.name, seed=12)
    assert again.train.fingerprint == problem.train.fingerprint
    assert again.test.fingerprint == problem.test.fingerprint
    np.testing.assert_array_equal(again.factors, problem.factors)
    assert other.train.fingerprint != problem.train.fingerprint


def test_two_worlds_of_one_seed_share_no_draws():
    assert not np.allclose(make("planted").factors, make("few-samples").factors)


def test_data_are_finite_and_standardised_by_the_training_part(problem):
    for part in (problem.train, problem.validation, problem.test):
        assert np.isfinite(part.x).all()
        assert part.scaling is not None
        np.testing.assert_array_equal(part.scaling.mean, problem.train.scaling.mean)
    np.testing.assert_allclose(problem.train.x.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(problem.train.x.std(axis=0), 1.0)


def test_parts_are_a_split_within_regimes_and_fresh_observations(problem):
    train, validation = problem.train, problem.validation
    sizes = [np.bincount(part.regime, minlength=train.n_regimes) for part in (train, validation)]
    np.testing.assert_allclose(sizes[0] / (sizes[0] + sizes[1]), 0.8, atol=0.1)
    assert not problem.test.is_intervened.any()
    assert (problem.test.regime == 0).all()


def test_the_truth_has_the_shape_of_the_data(problem):
    n = problem.train.n_variables
    assert problem.adjacency.shape == (n, n)
    assert problem.factors.shape == (problem.test.n_samples, problem.n_factors)
    assert np.isfinite(problem.factors).all()
    assert (problem.graph is None) == (problem.n_factors == 0)
    for part, known in problem.covariates.items():
        for values in known.values():
            assert len(values) == getattr(problem, part).n_samples


def test_factors_feed_along_the_graph_and_anchors_are_there_unless_said_otherwise(problem):
    if problem.graph is None:
        assert Violation.NO_FACTORS in problem.violates
        return
    assert problem.graph.Q.shape == (problem.train.n_variables, problem.n_factors)
    assert problem.graph.has_anchors == (Violation.NO_ANCHORS not in problem.violates)
    assert (problem.graph.variable_adjacency <= problem.adjacency).all()
    more = (problem.adjacency & ~problem.graph.variable_adjacency).any()
    assert more == bool({Violation.DIRECT_EDGE, Violation.FEEDBACK} & set(problem.violates))


def test_only_feedback_makes_a_cycle(problem):
    is_acyclic = topological_levels(problem.adjacency) is not None
    assert is_acyclic == (Violation.FEEDBACK not in problem.violates)


def test_a_model_that_is_given_reads_the_true_factors(problem):
    if problem.scm is None:
        assert not problem.is_right
        return
    np.testing.assert_allclose(problem.scm.state_map(problem.test.x).numpy(), problem.factors)
    assert problem.scm.graph == problem.graph


def test_a_world_is_right_exactly_if_nothing_is_wrong_with_it(problem):
    assert problem.is_right == (problem.violates == ())
    differs = problem.asked_factors != problem.n_factors
    assert differs == bool(
        {Violation.MISSING_FACTOR, Violation.SPARE_FACTOR, Violation.NO_FACTORS}
        & set(problem.violates)
    )


def test_right_worlds_fit_their_own_model_and_wrong_labels_do_not():
    def worst(problem):
        """The largest mean of a free variable's noise in a regime, in standard errors."""
        train = problem.train
        u = (
            problem.scm.abduct(train.x, train.is_intervened).numpy()
            / problem.scm.noise_scale.numpy()
        )
        regimes = [u[train.regime == r] for r in range(train.n_regimes)]
        return max(np.abs(rows.mean(axis=0)).max() * np.sqrt(len(rows)) for rows in regimes)

    for name, world in WORLDS.items():
        if not isinstance(world.settings, Genes) and make(name).is_right:
            assert worst(make(name)) < 5, name
    assert worst(make("off-target")) > 5


def test_a_misspelt_world_gets_a_suggestion():
    with pytest.raises(InvalidInputError, match="no world 'scren'. Did you mean 'screen'"):
        world_problem("scren", 0)


def test_settings_of_a_world_can_be_changed_and_checked():
    assert world_problem("laplace", 0, n_samples=300, n_factors=2).n_factors == 2
    with pytest.raises(
        InvalidInputError, match="Planted has no setting 'nosie'. Did you mean 'noi"
    ):
        world_problem("laplace", 0, nosie="gaussian")
    with pytest.raises(InvalidInputError, match="'n_samples' setting must be of the kind int"):
        world_problem("laplace", 0, n_samples="many")


def test_the_page_on_worlds_lists_each_with_its_sentence():
    page = (Path(__file__).parents[3] / "docs" / "worlds.md").read_text()
    for name, world in WORLDS.items():
        assert f"| `{name}` | {world.description} |" in page
    assert page.count("\n| `") == len(WORLDS)


MADE_BEFORE = {
    "screen": (0.5719204277, -0.7338200932, 0.2494744571, -1.490707076),
    "planted": (1.322371184, 0.4274416342, -0.2854094473, 0.03787521036),
    "skewed": (-0.9861049494, -0.2676589934, 0.07891471974, -1.131705519),
    "product": (0.7307040947, 0.3339507411, 1.520706038, -0.1231810596),
    "logic": (-0.9925325651, 1.000937354, 0.9792899832, 1.002503133),
    "counts-50": (0.5157108985, 1.97891577, -0.8696312405, -0.4160895576),
    "batches": (0.8474404878, 1.562374877, 0.6631710305, 0.546803597),
    "hidden-cause": (0.9143372774, -0.263978689, 1.567125263, -0.5084289583),
    "duplicates": (-0.03678231423, -2.282387251, 0.2491967052, 1.791402375),
    "sparse-dag": (1.377310338, -0.520429365, -0.6496622382, 0),
    "genes": (1.060288317, -2.199273413, -0.8809803084, 0.4395713875),
}
"""Seed 7, the network with few cells: one value of x in every part and one of the factors, printed
by the simulator when the worlds were first made."""


@pytest.mark.parametrize("name", MADE_BEFORE)
def test_a_seed_makes_the_world_it_always_made(name):
    few = {"n_control": 60, "n_knockouts": 2, "samples_per_regime": 20} if name == "genes" else {}
    problem = world_problem(name, 7, **few)
    factor = problem.factors[7, -1] if problem.n_factors else 0.0
    made = problem.train.x[3, 1], problem.validation.x[-1, -1], problem.test.x[5, 2], factor
    np.testing.assert_allclose(made, MADE_BEFORE[name], rtol=1e-8)
