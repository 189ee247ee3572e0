"""What regimes had the power to show."""

import numpy as np

from tests.solvers.search.one_effect import one_effect
from ucad.data import InterventionalData
from ucad.scm.families import AFFINE
from ucad.solvers.search.evidence import WEAK, interventional_evidence
from ucad.solvers.search.regime_power import POWER


def test_an_effect_too_weak_to_be_seen_stays_open():
    """Seventy samples at one standard deviation show 0.2² · 70 / 2, less than two nats."""
    evidence = interventional_evidence(one_effect(0.2, clamp_at=1.0), AFFINE)
    assert evidence.nats[0, 1] < POWER
    assert not evidence.is_tested[0, 1]
    assert evidence.is_open[0, 1]


def test_an_effect_that_would_have_been_seen_is_closed_where_there_is_none():
    """x1 and x0 go together at rest; far from rest x0 is set, and x1 does not follow."""
    rng = np.random.default_rng(0)
    cause = rng.standard_normal(1070)
    x = np.column_stack([cause, cause, rng.standard_normal(1070)])
    x[:, :2] += 0.5 * rng.standard_normal((1070, 2))
    clamped = np.zeros(x.shape, dtype=bool)
    clamped[:70, 0] = True
    x[:70, 0] = -3.0
    evidence = interventional_evidence(InterventionalData.from_arrays(x, clamped), AFFINE)
    assert evidence.is_tested[0, 1]
    assert evidence.nats[0, 1] < WEAK
    assert not evidence.is_open[0, 1]
    assert evidence.is_open[1, 0]  # x1 was never acted on
