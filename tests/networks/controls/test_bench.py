"""Gaps of a steered network, and what patched passes do, on one whose abstraction is exact."""

import numpy as np
import pytest
import torch

from tests.networks.models import exact_inputs, exact_network, exact_scm
from ucad.networks import Steering, expected_by_lookup, swap_pairs
from ucad.networks.controls.bench import Bench, Gap
from ucad.networks.decisions import decision

INPUTS = exact_inputs(120)
BITS = (INPUTS > 0.5).numpy()
BOTH = BITS.all(axis=1)
STEERING = Steering(exact_network(), exact_scm())
PAIRS = swap_pairs(
    BOTH, expected_by_lookup({"a": BITS[:, 0], "b": BITS[:, 1]}, BOTH, "a"), n_pairs=40
)
GAPS = Gap.all_of(STEERING)


@pytest.fixture(scope="module")
def bench():
    return Bench.of(STEERING, INPUTS, [PAIRS.base, PAIRS.source], decision)


def test_factors_that_make_units_of_the_same_sites_are_one_gap():
    assert [gap.factors for gap in GAPS] == [("Z1", "Z2"), ("Z3",)]
    assert [gap.columns for gap in GAPS] == [(0, 1), (2,)]
    assert np.flatnonzero(GAPS[0].parents).tolist() == [0, 1, 2, 3]
    assert np.flatnonzero(GAPS[0].children).tolist() == [4, 5, 6, 7]
    assert np.flatnonzero(GAPS[1].children).tolist() == [8, 9]


def test_only_inputs_that_are_named_are_run_and_found_again(bench):
    named = np.unique(np.r_[PAIRS.base, PAIRS.source])
    np.testing.assert_array_equal(bench.rows, named)
    np.testing.assert_array_equal(bench.rows[bench.at(PAIRS.source)], PAIRS.source)
    output = exact_network()(INPUTS[named]).detach()
    np.testing.assert_array_equal(bench.decisions, decision(output).numpy())
    torch.testing.assert_close(bench.x[:, :4], exact_network()[0](INPUTS[named]).detach().double())


def test_values_of_a_swapped_factor_are_those_of_the_source_in_its_children(bench):
    """Z1 makes units 4 and 5, (s, 2s) with s = a."""
    values = bench.factor_values(PAIRS, [0])
    base, source = bench.x[bench.at(PAIRS.base)], bench.x[bench.at(PAIRS.source)]
    torch.testing.assert_close(values[:, 4:6], source[:, 4:6], atol=1e-5, rtol=1e-5)
    others = [0, 1, 2, 3, 6, 7, 8, 9]
    torch.testing.assert_close(values[:, others], base[:, others], atol=1e-5, rtol=1e-5)


def test_a_known_factor_is_always_right_and_the_other_never_where_it_matters(bench):
    children = GAPS[0].children
    right = bench.right(PAIRS, children, bench.factor_values(PAIRS, [0]))
    assert right.all()
    wrong = bench.right(PAIRS, children, bench.factor_values(PAIRS, [1]))
    assert wrong[PAIRS.changes].mean() < 0.6


def test_units_put_back_change_no_decision(bench):
    base = bench.at(PAIRS.base)
    everything = np.ones(10, dtype=bool)
    decided = bench.patched(PAIRS.base, everything, bench.x[base])
    np.testing.assert_array_equal(decided, bench.decisions[base])


def test_a_whole_site_swapped_decides_as_the_source(bench):
    """Units 4 to 7 are all of their site, and nothing goes past it."""
    some = np.zeros(10, dtype=bool)
    some[4] = True
    np.testing.assert_array_equal(bench.swapped_sites(PAIRS, some), bench.copied(PAIRS))
    copied = bench.decisions[bench.at(PAIRS.source)] == PAIRS.expected
    np.testing.assert_array_equal(bench.copied(PAIRS), copied)


def test_a_network_without_context_has_no_covariates(bench):
    assert bench.covariates(GAPS[0].children) is None
    assert bench.context(np.arange(3)) is None
    assert bench.steering_is_linear
