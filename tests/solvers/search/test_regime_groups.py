"""Slopes inside the regimes of many variables."""

import numpy as np
import pytest

from ucad.data import InterventionalData
from ucad.scm.families import AFFINE
from ucad.solvers.search.evidence import interventional_evidence
from ucad.solvers.search.regime_groups import Groups, Slopes


def slopes_of(sizes, seed=0):
    rng = np.random.default_rng(seed)
    groups = Groups.of(np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]))
    return Slopes(groups, groups, rng.standard_normal(sum(sizes)), AFFINE), rng


def test_a_line_is_worth_what_its_regression_explains():
    slopes, rng = slopes_of([20, 30])
    y, free = rng.standard_normal(50) + slopes.cause, rng.random(50) > 0.2
    nats = slopes.nats(y, free)
    for at, rows in enumerate((np.arange(20), np.arange(20, 50))):
        rows = rows[free[rows]]
        r = np.corrcoef(slopes.cause[rows], y[rows])[0, 1]
        assert nats[at] == pytest.approx(-(len(rows) - 2) / 2 * np.log1p(-(r**2)), rel=1e-4)


def test_two_samples_always_lie_on_a_line_and_show_nothing():
    slopes, rng = slopes_of([2, 3])
    nats = slopes.nats(rng.standard_normal(5), np.ones(5, dtype=bool))
    assert nats[0] == 0
    assert not slopes.nats(rng.standard_normal(5), np.zeros(5, dtype=bool)).any()


def test_few_samples_per_regime_make_no_ancestors_of_noise():
    rng = np.random.default_rng(0)
    regime = np.repeat(np.arange(81), [200] + [5] * 80)
    acted = regime[:, None] == np.arange(1, 81)
    names = tuple(f"x{j}" for j in range(80))
    data = InterventionalData(rng.standard_normal((600, 80)), acted, regime, names, None)
    assert not interventional_evidence(data.standardised(), AFFINE).ancestors.any()
