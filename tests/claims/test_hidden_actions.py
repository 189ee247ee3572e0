import numpy as np
import pytest

from experiments.unmeasured import hide_half
from ucad.claims.hidden_actions import hidden_actions, left_out, marked
from ucad.data import InterventionalData
from ucad.data.kinds import RegimeKind
from ucad.errors import InvalidInputError
from ucad.simulate.worlds import world_problem
from ucad.solvers.registry import SolveSettings, solve


@pytest.fixture(scope="module")
def problem():
    return world_problem(
        "planted", 3, n_samples=2600, n_variables=12, n_factors=2, action="constant", value=-2.0
    )


def pairs(problem, data):
    return {
        (data.regime_names[r], data.variable_names[j])
        for r in np.unique(data.regime)
        for j in np.flatnonzero(problem.train.targets[r] & ~data.targets[r])
    }


def test_the_true_model_tells_what_hidden_targets_act_on_and_nothing_else(problem):
    data = hide_half(problem.train)
    found = hidden_actions(problem.scm, data)
    assert {(action.regime, action.node) for action in found} == pairs(problem, data)
    assert min(action.nats for action in found) > 2 * np.log(data.n_samples)
    assert hidden_actions(problem.scm, problem.train) == ()


def test_a_child_that_passes_for_a_parent_is_one_set_with_the_factor_it_is_said_to_feed():
    problem = world_problem("unmeasured-targets", 1, samples_per_regime=200)
    asked = SolveSettings(
        n_factors=2, factor_mechanism="linear", variable_mechanism="linear", unmeasured="infer"
    )
    result = solve(problem.train, asked, validation=problem.validation)
    graph = result.scm.graph
    assert len(result.acts_on) == len(problem.train.unmeasured_regimes)
    assert all(set(action.nodes) & set(graph.factor_names) for action in result.acts_on)
    sets = [action for action in result.acts_on if action.or_nodes]
    assert sets
    assert all(" or Z" in str(action) for action in sets)


def test_a_parent_that_a_regime_of_its_own_acts_on_is_named_alone(problem):
    data = hide_half(problem.train)
    own = data.targets.any(axis=0)
    for action in hidden_actions(problem.scm, data):
        j = data.variable_names.index(action.node)
        assert bool(action.or_nodes) is bool(problem.scm.graph.Q[j].any() and not own[j])


def test_a_factor_that_is_moved_is_named_and_not_its_children(problem):
    scm, graph = problem.scm, problem.scm.graph
    k = int(np.argmax(graph.R.sum(axis=0)))
    name = graph.factor_names[k]
    state = scm.do({name: 2.0}).sample(200, 1)
    data = problem.train.select(np.flatnonzero(problem.train.regime == 0))
    x = np.concatenate([scm.sample(2000, 2).x.numpy(), state.x.numpy()])
    regime = np.repeat([0, 1], [2000, 200])
    data = type(data)(
        x,
        np.zeros(x.shape, dtype=bool),
        regime,
        data.variable_names,
        regime_names=("observational", "drug"),
    )
    assert [(a.regime, a.node) for a in hidden_actions(scm, data)] == [("drug", name)]


def test_what_is_found_is_a_target_of_an_unknown_kind_or_leaves_the_likelihood(problem):
    data = hide_half(problem.train)
    found = hidden_actions(problem.scm, data)
    known = marked(data, found)
    assert (known.is_intervened == problem.train.is_intervened).all()
    assert known.kind_of(1) is RegimeKind.UNKNOWN
    out = left_out(data, found, problem.scm)
    assert (out.is_intervened == data.is_intervened).all()
    assert (out.is_left_out == problem.train.is_intervened).all()


def test_in_a_combination_the_measured_target_is_not_blamed_for_the_hidden_one():
    rng, n = np.random.default_rng(0), 4
    label = np.repeat(["", "A", "A;hidden", "B"], [400, 100, 100, 100])
    x = rng.normal(size=(len(label), n * 3))
    for at, parents in ((4, [0, 1]), (8, [2, 3])):
        for v, name in ((0, "A"), (2, "B")):
            x[np.char.find(label, name) >= 0, v] = -3.0
        moved = 2.0 * (label == "A;hidden") * (at == 8)
        x[:, at : at + 4] += (x[:, parents].sum(axis=1) + moved)[:, None]
    names = ("A", "C", "B", "D", *(f"g{i}" for i in range(8)))
    data = InterventionalData.from_targets(x, label.tolist(), variable_names=names)
    asked = SolveSettings(
        n_factors=2, factor_mechanism="linear", variable_mechanism="linear", unmeasured="infer"
    )
    result = solve(data, asked, validation=data)
    graph = result.scm.graph
    below = {f: set(graph.children(f)) for f in graph.factor_names if "A" in graph.parents(f)}
    assert list(below.values()) == [{"g0", "g1", "g2", "g3"}]
    other = next(f for f in graph.factor_names if f not in below)
    assert [(a.regime, a.node) for a in result.acts_on] == [("A;hidden", other)]


@pytest.mark.parametrize("choice", ["infer", "drop", "keep"])
def test_a_fit_infers_drops_or_keeps_regimes_with_hidden_targets(problem, choice):
    train, validation = (hide_half(part) for part in (problem.train, problem.validation))
    asked = SolveSettings(
        n_factors=2, factor_mechanism="linear", variable_mechanism="linear", unmeasured=choice
    )
    result = solve(train, asked, validation=validation)
    said = any("The unmeasured target of 'hidden" in note for note in result.status.notes)
    assert said is (choice == "infer")
    if choice == "infer":
        assert {(a.regime, a.node) for a in result.acts_on} >= pairs(problem, train)


def test_another_choice_is_refused():
    with pytest.raises(InvalidInputError, match="Did you mean 'infer'"):
        SolveSettings(n_factors=2, unmeasured="infr")
