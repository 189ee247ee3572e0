"""The bounds of complementary pairs stability selection, against simulated selections."""

import numpy as np
import pytest
from scipy.stats import binomtest

from ucad.consensus.error_control import expected_unimodal, expected_worst_case, wilson
from ucad.errors import InvalidInputError


@pytest.mark.parametrize(("count", "n"), [(0, 10), (10, 10), (36, 40), (1, 50)])
def test_wilson_agrees_with_scipy(count, n):
    theirs = binomtest(count, n).proportion_ci(method="wilson")
    assert wilson(count, n) == pytest.approx((theirs.low, theirs.high))


def test_nothing_is_known_without_fits():
    assert wilson(0, 0) == (0, 1)


def test_random_selections_stay_below_both_bounds():
    rng = np.random.default_rng(0)
    p, q, n_pairs = 200, 20.0, 20
    for threshold in (0.6, 0.7):
        above = [
            ((rng.random((2 * n_pairs, p)) < q / p).mean(axis=0) >= threshold).sum()
            for _ in range(200)
        ]
        assert np.mean(above) <= expected_unimodal(q, p, threshold, n_pairs)
        assert np.mean(above) <= expected_worst_case(q, p, threshold)


def test_samples_that_depend_on_each_other_break_the_bound():
    """Both halves select a noise edge, or none: the theorem wants independent halves."""
    rng = np.random.default_rng(0)
    p, theta, threshold = 400, 0.05, 0.99
    both = np.repeat(rng.random((500, 1, p)) < theta, 2, axis=1)
    above = (both.mean(axis=1) >= threshold).sum(axis=1)
    assert expected_worst_case(theta * p, p, threshold) < np.mean(above)


def test_unimodality_helps_at_high_thresholds_and_is_not_used_where_it_does_not_apply():
    assert expected_unimodal(20.0, 400, 0.9, 20) < expected_worst_case(20.0, 400, 0.9)
    assert expected_unimodal(300.0, 400, 0.9, 20) is None
    assert expected_unimodal(20.0, 400, 0.9, 0) is None


def test_more_edges_than_possible_are_never_expected():
    assert expected_worst_case(6.0, 6, 0.6) == 6
    assert expected_worst_case(0.0, 0, 0.9) == 0


@pytest.mark.parametrize("threshold", [0.5, 1.01])
def test_a_threshold_without_a_theorem_is_refused(threshold):
    with pytest.raises(InvalidInputError, match="threshold"):
        expected_worst_case(3.0, 10, threshold)
