"""Lemmas on ⪯_L and ⪯_H, and Definition "Intervention algebras"."""

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import contexts, factor_scms, hard_interventions, seeds
from ucad.scm import IDENTITY, Abstraction, Intervention, hard


def part_of(data, intervention: Intervention) -> Intervention:
    kept = data.draw(st.sets(st.sampled_from(sorted(intervention.support)))) if intervention else ()
    return hard({name: value for name, value in intervention.values.items() if name in kept})


@given(st.data(), factor_scms())
def test_the_intervention_map_preserves_order(data, scm):
    larger = data.draw(hard_interventions(scm))
    smaller = part_of(data, larger)
    omega = Abstraction(scm).intervention_map
    assert smaller.precedes(larger)
    assert omega(smaller).precedes(omega(larger))


@given(st.data(), factor_scms())
def test_order_at_the_high_level_is_reflexive_antisymmetric_and_transitive(data, scm):
    omega = Abstraction(scm).intervention_map
    c = data.draw(hard_interventions(scm))
    b = part_of(data, c)
    a = part_of(data, b)
    A, B, C = omega(a), omega(b), omega(c)
    assert C.precedes(C)
    assert A.precedes(B)
    assert B.precedes(C)
    assert A.precedes(C)
    if C.precedes(A):
        assert A.support == C.support
        assert all(A.replacements[z].values == C.replacements[z].values for z in A.support)


@given(st.data(), factor_scms())
def test_unequal_values_are_not_ordered(data, scm):
    i = data.draw(hard_interventions(scm, min_size=1))
    shifted = hard({name: value + 1.0 for name, value in i.values.items()})
    assert not i.precedes(shifted)
    assert not shifted.precedes(i)


@given(st.data(), factor_scms(), seeds)
def test_composition_is_one_model_after_the_other(data, scm, seed):
    first, second = data.draw(hard_interventions(scm)), data.draw(hard_interventions(scm))
    u = contexts(scm, seed)
    composed, stepwise = scm.do(first.then(second)).solve(u), scm.do(first).do(second).solve(u)
    assert composed.x.equal(stepwise.x)


@given(st.data(), factor_scms())
def test_composition_is_associative_with_an_identity_and_the_later_one_prevails(data, scm):
    a, b, c = (data.draw(hard_interventions(scm)) for _ in range(3))
    assert a.then(b).then(c).values == a.then(b.then(c)).values
    assert a.then(IDENTITY).values == a.values == IDENTITY.then(a).values
    assert a.then(b).values == {**a.values, **b.values}


@given(st.data(), factor_scms())
def test_the_induced_order_is_absorption(data, scm):
    larger = data.draw(hard_interventions(scm))
    smaller = part_of(data, larger)
    assert larger.then(smaller).values == larger.values


@given(st.data(), factor_scms())
def test_the_intervention_map_respects_composition(data, scm):
    a, b = data.draw(hard_interventions(scm)), data.draw(hard_interventions(scm))
    omega = Abstraction(scm).intervention_map
    composed, stepwise = omega(a.then(b)), omega(a).then(omega(b))
    assert composed.support == stepwise.support
    assert all(
        composed.replacements[z].values == stepwise.replacements[z].values for z in composed.support
    )
