import pytest
import torch

from ucad.errors import InvalidInputError
from ucad.scm import IDENTITY, Abstraction, Kind, hard, knock_down, parametric, shift, soft
from ucad.simulate import paper_problem


@pytest.fixture(scope="module")
def scm():
    return paper_problem("e", "16-3", seed=0, n_samples=500).scm


def child_and_parent(scm):
    graph = scm.graph
    child = graph.children(graph.factor_names[0])[0]
    return child, graph.parents(child)[0]


def test_kinds_are_nested():
    assert IDENTITY.kind is Kind.HARD
    assert hard({"X1": 0.0}).kind is Kind.HARD
    assert soft({"X1": lambda p, u: u}).kind is Kind.SOFT
    mixed = hard({"X1": 0.0}).then(parametric({"X2": lambda f: f}))
    assert mixed.kind is Kind.PARAMETRIC


def test_a_soft_intervention_sees_parents_and_context(scm):
    child, _ = child_and_parent(scm)
    j = scm.graph.variable_index(child)
    u = scm.draw_context(50, seed=1)
    doubled = soft({child: lambda parents, context: 2 * parents.sum(dim=1) + context})
    x, z = scm.solve(u, doubled)
    expected = 2 * z[:, torch.tensor(scm.graph.R[j])].sum(dim=1) + u[:, j]
    torch.testing.assert_close(x[:, j], expected)


def test_a_parametric_intervention_wraps_the_mechanism(scm):
    child, _ = child_and_parent(scm)
    j = scm.graph.variable_index(child)
    u = scm.draw_context(50, seed=1)
    shifted = parametric({child: lambda f: lambda parents, context: f(parents, context) + 1.0})
    before, after = scm.solve(u), scm.solve(u, shifted)
    torch.testing.assert_close(after.x[:, j], before.x[:, j] + 1.0)
    twice = scm.solve(u, shifted.then(shifted))
    torch.testing.assert_close(twice.x[:, j], before.x[:, j] + 2.0)
    on_constant = scm.solve(u, hard({child: 3.0}).then(shifted))
    torch.testing.assert_close(on_constant.x[:, j], torch.full((50,), 4.0, dtype=torch.float64))


def test_soft_interventions_mean_the_same_in_the_collapsed_model():
    """F^L_X has the low-level parents as arguments, so the replacement is written for those."""
    scm = paper_problem("b", "16-3", seed=1, n_samples=500).scm
    child, _ = child_and_parent(scm)
    low = Abstraction(scm).low_level
    u = scm.draw_context(30)
    shifted = parametric({child: lambda f: lambda parents, context: f(parents, context) - 2.0})
    torch.testing.assert_close(low.solve(u, shifted), scm.solve(u, shifted).x)


def test_factors_can_be_clamped_too(scm):
    factor = scm.graph.factor_names[0]
    state = scm.do({factor: 1.5}).sample(20)
    assert (state.z[:, 0] == 1.5).all()
    child = scm.graph.variable_index(scm.graph.children(factor)[0])
    constant = Abstraction(scm).high_level.do({factor: 1.5}).sample(20)
    torch.testing.assert_close(constant, state.z)
    assert state.x[:, child].std() < scm.sample(20).x[:, child].std()


def test_misuse_is_refused(scm):
    abstraction = Abstraction(scm)
    with pytest.raises(InvalidInputError, match="no variable or factor 'X17'. Did you mean"):
        scm.do({"X17": 0.0})
    with pytest.raises(InvalidInputError, match="no node 'X1'"):
        abstraction.high_level.do({"X1": 0.0})
    with pytest.raises(InvalidInputError, match="Only a hard intervention has values"):
        _ = soft({"X1": lambda p, u: u}).values
    image = abstraction.intervention_map({scm.graph.parents("Z1")[0]: 0.0})
    with pytest.raises(InvalidInputError, match="image of ω"):
        scm.do(image)


def test_omega_of_shifts_and_knock_downs_commutes():
    abstraction = Abstraction(paper_problem("e", "16-3", seed=1, n_samples=200).scm)
    context = abstraction.scm.draw_context(40, 3) + 0.1
    names = abstraction.scm.graph.variable_names
    for intervention in (
        shift(dict.fromkeys(names[:6], 0.7)),
        knock_down(dict.fromkeys(names[4:12], 0.7), to=-1.0),
        hard({names[0]: 1.0}).then(shift({names[0]: 0.5, names[9]: 2.0})),
    ):
        assert abstraction.gap(context, intervention) < 1e-10
        image = abstraction.intervention_map(intervention)
        assert image.precedes(image)


def test_omega_keeps_the_order_of_soft_interventions():
    abstraction = Abstraction(paper_problem("b", "16-3", seed=1, n_samples=200).scm)
    first, second = shift({"X1": 1.0, "X2": 1.0}), knock_down({"X2": 0.5, "X3": 0.5})
    context = abstraction.scm.draw_context(10, 3)
    whole = abstraction.intervention_map(first.then(second))
    parts = abstraction.intervention_map(first).then(abstraction.intervention_map(second))
    torch.testing.assert_close(
        abstraction.high_level.solve(context, whole), abstraction.high_level.solve(context, parts)
    )
