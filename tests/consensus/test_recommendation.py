"""Which number of factors is recommended, and with which words."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ucad.consensus.factor_path import FactorStep
from ucad.consensus.recommendation import (
    WithoutFactors,
    recommend,
    within_one_error,
)
from ucad.graph import FactorGraph
from ucad.scm import FactorSCM
from ucad.scm.families import AFFINE, EMPTY

NOISE = np.random.default_rng(0).standard_normal(400)
N_VARIABLES = 12


def scm_of(m):
    nothing = np.zeros((N_VARIABLES, m), dtype=bool)
    return FactorSCM(
        FactorGraph(nothing, nothing),
        AFFINE.mechanism([EMPTY] * m, N_VARIABLES),
        AFFINE.mechanism([EMPTY] * N_VARIABLES, m),
        torch.ones(N_VARIABLES, dtype=torch.float64),
    )


def step(m, likelihood, left=None, **changes):
    """A step whose samples have this mean log-likelihood, differences being nearly certain."""
    values = likelihood + 0.01 * (m + 1) * NOISE
    made = FactorStep(
        n_factors=m,
        nll=-likelihood / N_VARIABLES,
        standard_error=0.01,
        leftover=None if left is None else ("X1", left),
        n_anchored=m,
        n_empty=0,
        n_copied=0,
        n_single_child=0,
        n_edges=4 * m,
        log_likelihood=values,
        scm=scm_of(m),
    )
    return replace(made, **changes)


def direct(likelihood, n_edges):
    return WithoutFactors(step=step(1, likelihood), n_edges=n_edges, n_driven=5)


FACTORED = [step(0, -9, 0.5), step(1, -6, 0.3), step(2, -3), step(3, -3)]


def test_the_smallest_adequate_number_is_recommended_if_the_likelihood_agrees():
    found = recommend(FACTORED, direct(-3, 20))
    assert (found.n_factors, found.plausible) == (2, (2,))
    assert str(found).startswith("2 — the smallest number that leaves nothing")


def test_two_numbers_are_plausible_where_likelihood_and_adequacy_disagree():
    found = recommend([*FACTORED[:3], step(3, -2)], direct(-2, 20))
    assert (found.n_factors, found.plausible) == (2, (2, 3))
    assert "raise the held-out likelihood" in found.reason


def test_single_children_leave_open_whether_there_are_factors():
    steps = [*FACTORED[:2], step(2, -3, n_single_child=2), step(3, -3, n_empty=1)]
    found = recommend(steps, direct(-3, 4))
    assert (found.n_factors, found.plausible) == (2, (0, 2))
    assert "direct edges say the same" in found.reason


def test_independent_variables_have_no_factors():
    found = recommend([step(0, -9), step(1, -9, n_empty=1)], None)
    assert str(found).startswith("0 — no low-rank structure that these data can show.")


def test_a_gain_that_the_test_of_variables_cannot_see_leaves_two_numbers():
    found = recommend([step(0, -9), step(1, -8)], None)
    assert (found.n_factors, found.plausible) == (1, (0, 1))


def test_many_factors_that_save_no_edges_are_direct_edges():
    steps = [step(m, -9.0 + m, 0.3 if m < 5 else None) for m in range(6)]
    assert recommend(steps, direct(-4, 12)).n_factors == 0
    assert recommend(steps, direct(-4, 30)).n_factors == 5  # here they do save edges


def test_none_of_these_if_no_number_is_adequate_and_direct_edges_do_better():
    steps = [step(m, -9.0 + m, 0.3) for m in range(4)]
    found = recommend(steps, direct(-2, 30))
    assert found.plausible == (0,)
    assert "None of these" in found.reason


def test_none_of_these_names_no_number_and_uses_the_one_at_the_bend():
    rising = [step(m, -9 + gained, 0.1) for m, gained in enumerate([0, 2, 4, 6, 6.2, 6.4, 6.6])]
    found = recommend(rising, direct(-3, 30))
    assert (found.n_factors, found.plausible) == (3, ())
    assert "no number may be claimed" in found.reason
    assert "3 factors gain 91% of what 6 gain" in found.reason
    assert str(found).startswith("none of those tried (3 for want of a better one) — ")


def test_where_the_likelihood_has_a_peak_but_no_number_is_adequate_the_peak_is_used():
    steps = [step(0, -9, 0.5), step(1, -5, 0.1), step(2, -3.1, 0.1), step(3, -3, 0.1)]
    found = recommend([*steps, step(4, -3, 0.1, n_empty=1)], direct(-3, 30))
    assert (found.n_factors, found.plausible) == (3, ())
    assert "gain" not in found.reason


REWRITTEN = [
    *(step(m, -9 + 2 * m, 0.1) for m in range(4)),
    *(step(m, -3 + 0.1 * (m - 3), 0.1 if m < 6 else None, n_anchored=3) for m in range(4, 7)),
]


def test_many_factors_without_anchors_that_gain_little_stand_beside_the_few_that_gain_most():
    found = recommend(REWRITTEN, direct(-2, 60))
    assert (found.n_factors, found.plausible) == (3, (3, 6))
    assert "only 3 of 6 have anchors" in found.reason


def test_weak_factors_with_anchors_of_their_own_are_factors():
    anchored = [*REWRITTEN[:6], replace(REWRITTEN[6], n_anchored=6)]
    assert recommend(anchored, direct(-2, 60)).plausible == (6,)
    one_weak = [*REWRITTEN[:4], step(4, -2.9, n_anchored=3)]
    assert recommend(one_weak, direct(-2, 60)).plausible == (4,)


def test_the_likelihood_of_the_fitted_samples_is_not_asked():
    found = recommend([step(0, -9), step(1, -3)], None, is_held_out=False)
    assert found.plausible == (0,)


@pytest.mark.parametrize(("gain", "chosen"), [(0.0, 1), (1.0, 2)])
def test_one_standard_error_decides_for_fewer_factors(gain, chosen):
    steps = [step(0, -9), step(1, -6), step(2, -6 + gain)]
    assert within_one_error(steps).n_factors == chosen


def test_nothing_is_said_of_numbers_that_were_not_tried():
    alone = recommend([FACTORED[0]], None)
    assert alone.n_factors == 0
    assert "no larger number was tried" in alone.reason
    assert "do not raise" not in alone.reason
    last = recommend(FACTORED[:3], direct(-3, 20))
    assert last.n_factors == 2
    assert "more factors do not raise" not in last.reason
    assert "more factors do not raise" in recommend(FACTORED, direct(-3, 20)).reason
