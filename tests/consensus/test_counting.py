"""How often each factor and edge is found, against counting by name."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.claims.models import linear_scm
from tests.consensus.made_fits import (
    CHAIN,
    SAMPLES,
    Q,
    R,
    halves,
    only,
    relabelled,
    without,
    without_regimes,
)
from ucad.consensus.counting import (
    count,
    edge_support,
    error_control,
    factor_support,
    fit_accounts,
)
from ucad.consensus.error_control import expected_worst_case, wilson
from ucad.consensus.support import Graph

EDGES = [("Z1", "X5"), ("Z1", "X6"), ("Z2", "X7"), ("Z2", "X8")]
orders = st.tuples(
    st.permutations([0, 1]), st.tuples(st.sampled_from([-1, 1]), st.sampled_from([-1, 1]))
)


def by_edge(counts, graph, consensus=None):
    rows = edge_support(counts, graph, consensus)
    return {(row.cause, row.effect): row for row in rows}


@given(st.lists(orders, min_size=2, max_size=4))
def test_order_and_sign_of_a_fits_factors_do_not_matter(changes):
    counts = count(CHAIN, halves(*(relabelled(CHAIN, *one) for one in changes)), SAMPLES)
    assert counts.factor_names == ("Z1", "Z2")
    for graph, edges in ((Graph.Q, Q.sum()), (Graph.R, R.sum()), (Graph.A, 10), (Graph.B, 1)):
        rows = edge_support(counts, graph, None)
        assert [row.support for row in rows] == [1.0] * edges
        assert all(row.in_model for row in rows)
    for account, (order, signs) in zip(fit_accounts(counts), changes, strict=True):
        assert account.partners == tuple(order.index(k) for k in (0, 1))
        assert account.signs == tuple(signs[at] for at in account.partners)


@given(st.lists(st.sets(st.sampled_from(EDGES)), min_size=2, max_size=6))
def test_support_is_the_share_of_halves_that_have_an_edge(lost):
    turned = [relabelled(without(CHAIN, *edges), [1, 0], [-1, 1]) for edges in lost]
    left_out = without_regimes(without(CHAIN, *EDGES[:3]))
    counts = count(CHAIN, [*halves(*turned), *left_out], SAMPLES)
    found = by_edge(counts, Graph.R)
    for edge in EDGES:
        n_found = sum(edge not in edges for edges in lost)
        row = found[edge]
        assert row.support == n_found / len(lost)
        assert (row.low, row.high) == wilson(n_found, len(lost))
        assert row.without_regimes == float(edge == EDGES[3])


def test_edges_among_variables_are_products_of_each_fits_own_graph():
    """Z1 → X5 is lost in one fit of two, and with it what X1 and X2 do to X5, X7 and X8."""
    counts = count(CHAIN, halves(CHAIN, without(CHAIN, ("Z1", "X5"))), SAMPLES)
    found = {edge: row.support for edge, row in by_edge(counts, Graph.A).items()}
    for cause, effect in product(range(8), range(8)):
        name = (f"X{cause + 1}", f"X{effect + 1}")
        share = np.mean([(Q[cause] & children).any() for children in (R[effect], R[effect])])
        if effect == 4:
            share /= 2
        assert found.get(name, 0.0) == share


def test_a_factor_without_a_partner_takes_its_edges_along():
    counts = count(CHAIN, halves(CHAIN, only(CHAIN, "Z1")), SAMPLES)
    assert [row.stability for row in factor_support(counts, ())] == [1.0, 0.5]
    assert by_edge(counts, Graph.Q)["X3", "Z2"].support == 0.5
    assert by_edge(counts, Graph.R)["Z2", "X7"].support == 0.5
    assert by_edge(counts, Graph.B)["Z1", "Z2"].support == 0.5
    assert by_edge(counts, Graph.A)["X3", "X7"].support == 0.5
    assert by_edge(counts, Graph.A)["X1", "X5"].support == 1.0
    assert fit_accounts(counts)[1].partners == (0, None)


def test_a_fit_without_factors_has_no_edges():
    counts = count(CHAIN, halves(CHAIN, only(CHAIN)), SAMPLES)
    assert [row.stability for row in factor_support(counts, ())] == [0.5, 0.5]
    for graph in Graph:
        assert {row.support for row in edge_support(counts, graph, None)} == {0.5}


@pytest.mark.parametrize(("n_with", "names"), [(2, ("Z1", "Z2")), (1, ("Z1",))])
def test_a_factor_that_half_of_the_fits_have_gets_a_place_and_a_rarer_one_does_not(n_with, names):
    smaller = only(CHAIN, "Z1")
    fits = halves(*[relabelled(CHAIN, [1, 0], [-1, 1])] * n_with, *[smaller] * (4 - n_with))
    counts = count(smaller, fits, SAMPLES)
    assert counts.factor_names == names
    rows = factor_support(counts, names)
    assert [row.stability for row in rows] == [1.0, 0.5][: len(names)]
    assert [row.in_model for row in rows] == [True, False][: len(names)]
    new = {edge for edge, row in by_edge(counts, Graph.Q).items() if not row.in_model}
    assert new == {("X3", "Z2"), ("X4", "Z2"), ("X5", "Z2")} & {*product(new_names(), names)}


def new_names():
    return [f"X{number}" for number in range(1, 9)]


def test_a_new_factor_takes_no_name_that_a_factor_or_a_variable_has():
    scm = linear_scm(Q, R)
    names = ("Z1", "Z3", *scm.graph.variable_names[2:])
    object.__setattr__(scm.graph, "variable_names", names)
    smaller = only(scm, "Z2")
    counts = count(smaller, halves(scm, scm), SAMPLES)
    assert counts.factor_names == ("Z2", "Z4")


def test_edges_of_the_model_are_listed_and_others_from_two_fits_on():
    smaller = without(CHAIN, ("Z1", "X6"), ("Z2", "X8"))
    other = without(CHAIN, ("Z2", "X8"), ("Z2", "X7"))
    counts = count(smaller, halves(CHAIN, other, other, other), SAMPLES)
    found = by_edge(counts, Graph.R)
    assert set(found) == {("Z1", "X5"), ("Z1", "X6"), ("Z2", "X7")}  # Z2 → X8 is in one fit only
    assert (found["Z1", "X6"].in_model, found["Z1", "X6"].support) == (False, 1.0)
    assert (found["Z2", "X7"].in_model, found["Z2", "X7"].support) == (True, 0.25)


def test_rows_come_by_support_and_say_what_the_consensus_has():
    counts = count(CHAIN, halves(CHAIN, without(CHAIN, ("Z1", "X5"))), SAMPLES)
    rows = edge_support(counts, Graph.R, without(CHAIN, ("Z2", "X7")).graph)
    assert [row.support for row in rows] == [1.0, 1.0, 1.0, 0.5]
    assert {row[1:3] for row in rows if not row.in_consensus} == {("Z2", "X7")}
    assert [row.in_consensus for row in factor_support(counts, ["Z2"])] == [False, True]


@pytest.mark.parametrize(
    ("graph", "n_possible", "n_edges"),
    [(Graph.Q, 16, 5), (Graph.R, 16, 4), (Graph.A, 56, 10), (Graph.B, 2, 1)],
)
def test_the_bound_is_that_of_the_mean_number_of_edges_in_a_half(graph, n_possible, n_edges):
    """Half of the fits to halves have nothing of Z2; fits without regimes do not count."""
    counts = count(
        CHAIN, [*halves(*[CHAIN] * 9, only(CHAIN, "Z1")), *without_regimes(only(CHAIN))], SAMPLES
    )
    kept = {Graph.Q: 2, Graph.R: 2, Graph.A: 4, Graph.B: 0}[graph]
    selected = 0.9 * n_edges + 0.1 * kept
    found = error_control(counts, graph, threshold=0.9)
    assert (found.n_possible, found.n_above) == (n_possible, n_edges)
    assert found.n_selected == pytest.approx(selected)
    assert found.expected_false == pytest.approx(expected_worst_case(selected, n_possible, 0.9))
    assert error_control(counts, graph, threshold=0.95).n_above == kept


def test_only_pairs_of_which_both_halves_ended_well_are_pairs():
    counts = count(CHAIN, [*halves(*[CHAIN] * 5), *without_regimes(CHAIN, CHAIN)], SAMPLES)
    assert counts.n_pairs == 2


def test_the_correlation_of_a_factor_is_the_mean_over_its_partners():
    """Without X4, Z2 is the sum of two of three independent parents of variance 1, 1 and v."""
    fewer = without(CHAIN, ("X4", "Z2"))
    counts = count(CHAIN, halves(CHAIN, relabelled(fewer, [0, 1], [1, -1])), SAMPLES)
    z, w = (one.state_map(SAMPLES).numpy()[:, 1] for one in (CHAIN, fewer))
    r = np.corrcoef(z, w)[0, 1]
    assert 0.72 < r < 0.95
    assert factor_support(counts, ())[1].correlation == pytest.approx((1 + r) / 2, abs=0.02)


def test_without_fits_that_leave_regimes_out_nothing_is_said_of_them():
    counts = count(CHAIN, halves(CHAIN, CHAIN), SAMPLES)
    assert {row.without_regimes for row in factor_support(counts, ())} == {None}
    assert {row.without_regimes for row in edge_support(counts, Graph.A, None)} == {None}
