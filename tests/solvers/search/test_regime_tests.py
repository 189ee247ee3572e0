"""What regimes show of what a variable acts on."""

import numpy as np
import pytest

from tests.solvers.search.one_effect import one_effect
from ucad.scm.families import AFFINE
from ucad.solvers.search.evidence import interventional_evidence
from ucad.solvers.search.regime_tests import RegimeTests


def test_a_strong_effect_is_an_ancestor():
    evidence = interventional_evidence(one_effect(1.0, clamp_at=-3.0), AFFINE)
    assert evidence.ancestors.tolist() == [[False, True, False], [False] * 3, [False] * 3]
    assert evidence.never_acted_on.tolist() == [False, True, True]


@pytest.mark.parametrize("clamp_at", [None, -3.0])
def test_the_moments_of_untouched_samples_are_those_of_numpy(clamp_at):
    data = one_effect(0.5, clamp_at=clamp_at)
    cross, variance = RegimeTests(data, AFFINE).untouched_moments
    at_rest = data.x[~data.is_intervened.any(axis=1)]
    assert cross[:, 0] == pytest.approx(np.cov(at_rest.T, bias=True)[0] * len(at_rest), rel=1e-6)
    assert variance == pytest.approx(at_rest.var(axis=0), rel=1e-6)


def test_a_clamp_at_one_value_is_constant_and_moves_the_mean():
    fixed, drawn = (RegimeTests(one_effect(0.5, clamp_at=at), AFFINE) for at in (-3.0, None))
    assert fixed.is_constant.tolist() == [True, False, False]
    assert fixed.is_moved[0]
    assert not drawn.is_constant.any()
    assert not drawn.is_moved.any()
