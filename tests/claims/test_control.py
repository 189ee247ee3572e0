"""The positive control says what the test could have seen: more with more samples."""

from __future__ import annotations

import numpy as np
import pytest

from tests.claims.models import SMALL, System, linear_scm, observed, samples_of
from ucad.claims.adequacy import Adequacy
from ucad.claims.control import SHARES, _plants, _share_found_by, _signals, smallest_share_seen

SYSTEM = System(scm=SMALL, targets=((0,), (3,)))


def adequacy_of(n_samples):
    return Adequacy(samples_of(SMALL, SYSTEM, n_samples=n_samples))


def test_more_samples_see_smaller_shares():
    few, many = (smallest_share_seen(adequacy_of(n), 0) for n in (200, 4000))
    assert 0.015 < many < 0.05
    assert few is None or few > many


def test_no_noise_leaves_every_share_that_counts_visible():
    exact = linear_scm(SMALL.graph.Q, SMALL.graph.R, noise=0.0)
    adequacy = Adequacy(samples_of(exact, System(scm=exact, targets=()), n_samples=600))
    found = _plants(adequacy, 3, np.array([0, 1, 4]))
    assert found.tolist() == 3 * [[False] + 8 * [True]]


def test_the_share_seen_moves_with_the_number_of_samples_and_does_not_jump():
    seen = [smallest_share_seen(adequacy_of(n), 0) for n in (2300, 2400)]
    assert seen[0] == pytest.approx(seen[1], rel=0.5)
    found = np.array([0, 0, 0, 0, 0.85, 1, 1, 1, 1])
    low, high = (_share_found_by(0.9, found + 0.04 * step) for step in (0, 1))
    assert 0.05 < high < low < 0.07
    assert _share_found_by(0.9, 0 * found) is None
    assert _share_found_by(0.9, 0 * found + 1) == SHARES[0]


def test_too_few_rows_host_no_plant():
    chain = linear_scm([[1], [0]], [[0], [1]])
    rng = np.random.default_rng(0)
    adequacy = Adequacy(observed(chain, rng.standard_normal((10, 2))))
    assert smallest_share_seen(adequacy, 0) is None


def test_a_plant_has_mean_0_and_its_share_of_variance_on_fitting_rows():
    adequacy = adequacy_of(900)
    learner = adequacy.learners(3)[0]
    fit, test = _signals(adequacy.samples, np.array([1, 4]), learner)
    assert fit.shape == (len(learner.fit), 2 * len(SHARES))
    assert test.shape == (len(learner.test), 2 * len(SHARES))
    assert fit.mean(axis=0) == pytest.approx(np.zeros(18), abs=1e-12)
    assert fit.var(axis=0) == pytest.approx(np.tile(SHARES, 2))
    x = np.clip(adequacy.samples.x[learner.fit], -3, 3)
    assert abs(np.corrcoef(fit[:, 0], x[:, 1])[0, 1]) == pytest.approx(1)
    assert abs(np.corrcoef(fit[:, 9], x[:, 4] ** 2)[0, 1]) == pytest.approx(1)


def test_large_plants_are_found_and_small_ones_are_not():
    adequacy = adequacy_of(1500)
    found = _plants(adequacy, 3, np.array([0, 1, 2, 4]))
    assert found[:, -1].all()
    assert not found[:, 0].any()


def test_a_plant_below_the_bound_of_the_screening_is_lost():
    adequacy = adequacy_of(1500)
    learners = adequacy.learners(3)
    for learner in learners:
        object.__setattr__(learner.choice, "bound", 1.0)
    object.__setattr__(adequacy, "learners", lambda j, extra=(): learners)
    assert not _plants(adequacy, 3, np.array([0, 1])).any()
