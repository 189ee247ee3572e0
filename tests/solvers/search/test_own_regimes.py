"""Edges that do not show where their cause is acted on."""

from __future__ import annotations

import numpy as np

from ucad.data import InterventionalData
from ucad.scm.families import AFFINE
from ucad.simulate.worlds import world_problem
from ucad.solvers.search.evidence import interventional_evidence
from ucad.solvers.search.own_regimes import unseen_in_own_regime


def _screen() -> InterventionalData:
    """A makes B and C, which are read with noise; A and B are knocked out, C never."""
    rng = np.random.default_rng(2)
    regime = np.repeat([0, 1, 2], [1000, 80, 80])
    a = np.where(regime == 1, -3.0, rng.standard_normal(len(regime)))
    b = np.where(regime == 2, -3.0, a + 0.3 * rng.standard_normal(len(regime)))
    c = a + 0.3 * rng.standard_normal(len(regime))
    x = np.column_stack([a, b, c]) + rng.standard_normal((len(regime), 3))
    targets = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=bool)
    return InterventionalData.from_arrays(x, targets[regime]).standardised()


def test_an_edge_must_show_in_the_regime_of_its_cause() -> None:
    data = _screen()
    barred = unseen_in_own_regime(data, interventional_evidence(data, AFFINE))
    assert not barred[0, 1:].any()
    assert barred[1, [0, 2]].all()
    assert barred[2, :2].all()


def test_clamps_that_move_no_mean_bar_nothing() -> None:
    data = world_problem("planted", seed=0, n_samples=1000).train
    assert not unseen_in_own_regime(data, interventional_evidence(data, AFFINE)).any()
