"""Theorem "Uniform transformation": ℋ is a uniform (τ, ω)-transformation of ℒ."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import contexts, factor_scms, hard_interventions, seeds
from ucad.scm import Abstraction, hard

EXACT = 1e-10


@given(st.data(), factor_scms(), seeds)
def test_acting_then_summarising_is_summarising_then_acting(data, scm, seed):
    abstraction = Abstraction(scm)
    i = data.draw(hard_interventions(scm))
    u = contexts(scm, seed)
    low = abstraction.state_map(abstraction.low_level.solve(u, i))
    high = abstraction.high_level.solve(u, abstraction.intervention_map(i))
    torch.testing.assert_close(low, high, atol=EXACT, rtol=EXACT)


@given(factor_scms(), seeds)
def test_it_holds_for_stochastic_hard_interventions_sample_by_sample(scm, seed):
    abstraction, u = Abstraction(scm), contexts(scm, seed)
    values = contexts(scm, seed + 1)
    i = hard({name: values[:, j] for j, name in enumerate(scm.graph.variable_names[:3])})
    assert abstraction.gap(u, i) < EXACT


@given(st.data(), factor_scms(), seeds)
def test_both_collapsed_models_agree_with_the_factor_scm(data, scm, seed):
    abstraction, u = Abstraction(scm), contexts(scm, seed)
    i = data.draw(hard_interventions(scm))
    x, z = scm.solve(u, i)
    torch.testing.assert_close(abstraction.low_level.solve(u, i), x, atol=EXACT, rtol=EXACT)
    torch.testing.assert_close(abstraction.state_map(x), z, atol=EXACT, rtol=EXACT)


@given(factor_scms(noise=0.4))
def test_a_wrong_intervention_map_breaks_the_diagram(scm):
    """The check can fail: leaving out ω(i) is seen wherever i reaches a factor."""
    abstraction, u = Abstraction(scm), contexts(scm, 0)
    clamped = scm.graph.variable_names[int(scm.graph.Q.any(axis=1).argmax())]
    i = hard({clamped: 50.0})
    low = abstraction.state_map(abstraction.low_level.solve(u, i))
    assert (low - abstraction.high_level.solve(u)).abs().max() > 1e-6
