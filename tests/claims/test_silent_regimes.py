"""A regime in which nothing measured was acted on differs from the others only if something was."""

from __future__ import annotations

from tests.claims.models import SCM, System, samples_of
from ucad.claims.silent_regimes import moving_without_targets


def test_a_regime_that_moves_a_variable_without_a_target_is_named():
    samples = samples_of(SCM, System(targets=((), (), (0,))), n_samples=800)
    assert moving_without_targets(samples) == []
    samples.x[samples.regime == 1, 5] += 1.0
    assert moving_without_targets(samples) == [samples.regime_names[1]]


def test_one_regime_without_targets_has_nothing_to_differ_from():
    samples = samples_of(SCM, System(targets=((0,), (1,))), n_samples=600)
    samples.x[samples.regime == 0, 5] += 1.0
    assert moving_without_targets(samples) == []
