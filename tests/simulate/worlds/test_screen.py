import numpy as np
import pytest

from ucad.errors import InvalidInputError
from ucad.simulate.worlds import ACTIONS, SHAPES, Screen, Violation, screen_problem


def original(problem):
    """All samples for training, in the units in which the screen is simulated."""
    return problem.train.unstandardised()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("parents", [1, 2, 5])
@pytest.mark.parametrize("n_factors", [2, 4])
def test_every_screen_is_anchored_and_has_the_parents_and_children_asked_for(
    shape, parents, n_factors
):
    problem = screen_problem(
        1, shape=shape, parents=parents, children=4, n_factors=n_factors, n_control=50
    )
    graph = problem.graph
    assert graph.has_anchors
    assert (graph.Q.sum(axis=0) >= parents).all()
    assert (graph.R.sum(axis=0) >= 4).all()
    assert (graph.factor_adjacency.any()) == (shape == "chain")
    if shape == "independent":
        assert graph.n_variables == n_factors * (parents + 4)
        assert (graph.Q.sum(axis=0) == parents).all()
        assert ((graph.Q | graph.R).sum(axis=1) == 1).all()
    if shape == "overlap":
        assert (graph.R.sum(axis=1) == 2).any()


def test_all_variables_have_variance_one_and_the_signal_asked_for():
    problem = screen_problem(
        3, shape="overlap", n_factors=3, signal=(0.6, 0.7), n_control=20_000, share_targeted=0.0
    )
    data = original(problem)
    np.testing.assert_allclose(data.x.std(axis=0), 1.0, atol=0.03)
    residual = problem.scm.abduct(problem.train.x).numpy()
    signal = 1 - residual.var(axis=0)[problem.graph.R.any(axis=1)]
    assert signal.min() > 0.57
    assert signal.max() < 0.73


def test_the_true_model_is_in_the_units_of_the_data():
    problem = screen_problem(2, shape="chain", clamp="random", parents=3, children=4)
    np.testing.assert_allclose(problem.scm.state_map(problem.test.x).numpy(), problem.factors)
    residual = problem.scm.abduct(problem.train.x, problem.train.is_intervened).numpy()
    free = ~problem.train.is_intervened
    spread = np.array([r[f].std() for r, f in zip(residual.T, free.T, strict=True)])
    np.testing.assert_allclose(spread, problem.scm.noise_scale, rtol=0.1)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_target_is_acted_on_as_its_kind_says(action):
    problem = screen_problem(4, clamp=action, value=-2.0, shape="chain", samples_per_regime=400)
    data, graph = original(problem), problem.graph
    child = int(np.flatnonzero(graph.Q.any(axis=1) & graph.R.any(axis=1))[0])
    is_target = data.is_intervened[:, child]
    factor = problem.scm.state_map(problem.train.x).numpy()[:, np.flatnonzero(graph.R[child])[0]]
    there, parent = data.x[is_target], factor[is_target]
    is_constant = action in ("constant", "knockout")
    follows = 0.0 if is_constant else abs(np.corrcoef(parent, there[:, child])[0, 1])
    mean, spread = there[:, child].mean(), there[:, child].std()
    expected = {
        "constant": (-2.0, 0.0),
        "random": (0.0, 1.0),
        "knockdown": (-1.4, 0.3),
        "shift": (-2.0, 1.0),
        "knockout": (0.0, 0.0),
        "coin": (0.5, 0.5),
        "count": (0.57, 0.49),  # log(1 + c), c ~ Poisson(1)
    }[action]
    np.testing.assert_allclose((mean, spread), expected, atol=0.15)
    is_clamp = action not in ("knockdown", "shift")
    assert (follows < 0.2) == is_clamp
    assert problem.is_right == is_clamp
    assert problem.violates == (() if is_clamp else (Violation.NOT_A_CLAMP,))
    assert problem.kind_of_intervention == action


def test_only_descendants_of_a_clamped_input_shift():
    problem = screen_problem(5, samples_per_regime=500)
    data, graph = original(problem), problem.graph
    control = data.x[data.regime == 0]
    for v in np.flatnonzero(graph.Q.any(axis=1)):
        there = data.x[data.is_intervened[:, v]]
        pooled = np.sqrt(there.var(axis=0) / len(there) + control.var(axis=0) / len(control))
        shift = np.abs(there.mean(axis=0) - control.mean(axis=0)) / pooled
        below = graph.variable_adjacency[v]
        above = np.arange(graph.n_variables) == v
        assert shift[below & ~above].mean() > 5
        assert shift[~below & ~above].max() < 4.5


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_a_share_of_all_variables_can_be_targeted(share):
    train = screen_problem(0, share_targeted=share, n_control=100).train
    assert train.is_intervened.any(axis=0).sum() == round(share * 30)
    assert (train.is_intervened.sum(axis=1) <= 1).all()


def test_by_default_the_parents_are_targeted_and_no_others():
    problem = screen_problem(0, shape="chain", n_control=100)
    np.testing.assert_array_equal(
        problem.train.is_intervened.any(axis=0), problem.graph.Q.any(axis=1)
    )


def test_the_number_of_samples_can_be_given():
    problem = screen_problem(0, n_samples=1000)
    assert problem.train.n_samples + problem.validation.n_samples == 1000
    with pytest.raises(InvalidInputError, match="at least 70 for each of 10 targets. Got 600"):
        screen_problem(0, n_samples=600)


def test_the_same_seed_makes_the_same_screen_and_another_does_not():
    one, two, other = (screen_problem(seed, n_control=50) for seed in (7, 7, 8))
    assert one.train.fingerprint == two.train.fingerprint
    assert one.train.fingerprint != other.train.fingerprint


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"parents": 0}, "'parents' setting of Screen must be at least 1. Got 0"),
        ({"clamp": "constnat"}, "Did you mean 'constant'"),
        ({"shape": "chian"}, "Did you mean 'chain'"),
        ({"signal": (0.9, 0.2)}, "two increasing numbers"),
        ({"share_targeted": 1.5}, "from 0 to 1"),
        ({"shape": "overlap", "n_factors": 1}, "at least 2 for the shape 'overlap'"),
    ],
)
def test_impossible_screens_are_refused(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        Screen(**settings)


def test_an_unknown_setting_gets_a_suggestion():
    with pytest.raises(
        InvalidInputError, match="Screen has no setting 'parnets'. Did you mean 'par"
    ):
        screen_problem(0, parnets=3)
