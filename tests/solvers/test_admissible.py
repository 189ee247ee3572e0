"""Who may act on whom, against brute force over all small graphs."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ucad.data import InterventionalData
from ucad.graph import boolean_product, topological_levels, transitive_closure
from ucad.solvers.admissible import Admissible
from ucad.solvers.prior import PriorKnowledge

N, M = 4, 2


def data(layers=None):
    x = np.random.default_rng(0).standard_normal((10, N))
    return InterventionalData.from_arrays(x, layer_of=layers)


def edges(*pairs, shape=(N, M)):
    matrix = np.zeros(shape, dtype=bool)
    for pair in pairs:
        matrix[pair] = True
    return matrix


def columns(n_factors):
    """All ways to give every factor parents, children or nothing: 3ⁿ per factor."""
    each = np.array(list(itertools.product([0, 1, 2], repeat=N)))
    for chosen in itertools.product(range(len(each)), repeat=n_factors):
        both = each[list(chosen)].T
        yield both == 1, both == 2


def is_within(Q, R, known):
    """The definition: every pair of a parent and a child of one factor is possible."""
    A = boolean_product(Q, R.T)
    if topological_levels(boolean_product(R.T, Q)) is None or (A & known.ancestors.T).any():
        return False
    layer = known.layer_of
    return layer is None or not (A & (layer[:, None] >= layer[None, :])).any()


def known_of(layers=None, ancestors=()):
    known = np.zeros((N, N), dtype=bool)
    for pair in ancestors:
        known[pair] = True
    return Admissible.of(data(layers)).with_ancestors(known)


@pytest.mark.parametrize(
    ("layers", "ancestors"),
    [
        (None, []),
        ([0, 0, 1, 2], []),
        (None, [(0, 1)]),
        (None, [(2, 0), (0, 3)]),
        ([0, 1, 1, 2], []),
    ],
)
def test_a_graph_of_one_factor_is_allowed_exactly_by_the_definition(layers, ancestors):
    known = known_of(layers, ancestors)
    verdicts = {True: 0, False: 0}
    for Q, R in columns(1):
        expected = is_within(Q, R, known)
        assert known.allows(Q, R) == expected
        verdicts[expected] += 1
    assert verdicts[True]
    assert verdicts[False] or not (layers or ancestors)


@given(seed=st.integers(0, 10_000), which=st.integers(0, 2))
def test_a_graph_of_two_factors_is_allowed_exactly_by_the_definition(seed, which):
    known = [known_of(), known_of([0, 0, 1, 2]), known_of(ancestors=[(1, 2)])][which]
    rng = np.random.default_rng(seed)
    for _ in range(50):
        both = rng.integers(0, 3, (N, M))
        Q, R = both == 1, both == 2
        assert known.allows(Q, R) == is_within(Q, R, known)


@given(seed=st.integers(0, 10_000), labelled=st.booleans(), layered=st.booleans())
def test_children_parents_and_whole_graphs_agree(seed, labelled, layered):
    """A child is among the children for some parents iff they are among the parents for it."""
    rng = np.random.default_rng(seed)
    prior = PriorKnowledge(
        forbidden_parent=rng.random((N, M)) < 0.2, forbidden_child=rng.random((N, M)) < 0.2
    )
    ancestors = np.triu(rng.random((N, N)) < 0.2, k=1)
    known = Admissible.of(data([0, 0, 1, 2] if layered else None), prior).with_ancestors(ancestors)
    known = known.labelled() if labelled else known
    n_columns = M if labelled else 1
    for _ in range(20):
        k = int(rng.integers(n_columns))
        Q, R = np.zeros((2, N, n_columns), dtype=bool)
        Q[rng.choice(N, 2, replace=False), k] = True
        j = int(rng.choice(np.flatnonzero(~Q[:, k])))
        R[j, k] = True
        is_child = known.children_for(Q)[j, k]
        assert is_child == known.allows(Q, R)
        if is_child:
            assert known.parents_for(R)[Q[:, k], k].all()


def test_a_labelled_prior_speaks_of_each_factor_and_an_unlabelled_one_of_any():
    prior = PriorKnowledge(forbidden_parent=edges((0, 0)), forbidden_child=edges((1, 1)))
    known = Admissible.of(data(), prior)
    first, second = ((edges((0, k)), edges((3, k))) for k in (0, 1))
    assert known.allows(*first)  # as the second factor of the prior it may have this parent
    assert known.allows(*second)
    assert not known.labelled().allows(*first)
    assert known.labelled().allows(*second)


def test_a_pair_is_possible_if_one_factor_may_have_both_ends():
    prior = PriorKnowledge(forbidden_parent=edges((0, 0)), forbidden_child=edges((1, 1)))
    pairs = Admissible.of(data(), prior).may_precede
    assert not pairs[0, 1]
    assert (pairs | edges((0, 1), shape=(N, N)) | np.eye(N, dtype=bool)).all()


def test_a_candidate_may_only_have_the_children_of_factors_that_allow_its_parents():
    prior = PriorKnowledge(forbidden_parent=edges((0, 0)), forbidden_child=edges((1, 1), (2, 0)))
    known = Admissible.of(data(), prior)
    one, other = edges((0, 0))[:, [0]], edges((3, 0))[:, [0]]
    assert known.children_for(one)[:, 0].tolist() == [False, False, True, True]
    assert known.children_for(other)[:, 0].tolist() == [True, True, True, False]


def test_a_candidate_that_no_factor_allows_has_no_children():
    prior = PriorKnowledge(forbidden_parent=edges((0, 0), (0, 1)))
    assert not Admissible.of(data(), prior).children_for(edges((0, 0))[:, [0]]).any()


def test_required_edges_are_asked_of_labelled_factors_alone():
    prior = PriorKnowledge(required_parent=edges((0, 1)), required_child=edges((2, 1)))
    known = Admissible.of(data(), prior)
    without, with_both = (edges(), edges()), (edges((0, 1)), edges((2, 1)))
    assert known.allows(*without)
    assert not known.labelled().allows(*without)
    assert known.labelled().allows(*with_both)


def test_a_required_parent_is_an_ancestor_of_a_required_child():
    prior = PriorKnowledge(required_parent=edges((0, 1)), required_child=edges((2, 1)))
    known = Admissible.of(data(), prior)
    assert known.ancestors[0, 2]
    assert not known.may_precede[2, 0]


def test_what_the_prior_requires_outweighs_evidence_that_contradicts_it():
    prior = PriorKnowledge(required_parent=edges((0, 1)), required_child=edges((2, 1)))
    evidence, other = np.zeros((2, N, N), dtype=bool)
    evidence[2, 0] = other[2, 3] = True
    known = Admissible.of(data(), prior)
    assert (known.with_ancestors(evidence).ancestors == known.ancestors).all()
    agreed = known.with_ancestors(other).ancestors
    assert agreed[0, 3]  # closed under "is an ancestor of"
    assert (transitive_closure(agreed) == agreed).all()
