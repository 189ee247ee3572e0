"""What noisy readings do not settle: edges that do not show where their cause is acted on.

A noisily read regulator predicts its target worse than the target's siblings do, so that patterns
of dependence turn siblings into parents. The mean over a regime has no such trouble: where acting
on v moves v, whatever v causes must move, too.
"""

from __future__ import annotations

import numpy as np

from ucad._types import BooleanMatrix
from ucad.data import InterventionalData
from ucad.scm.families import AFFINE
from ucad.solvers.search.evidence import Evidence
from ucad.solvers.search.regime_tests import RegimeTests

__all__ = ["unseen_in_own_regime"]

MIN_SHOWN = 1.0
"""Nats that v's own regime must show of its effect on j before v may be a parent of j. Under no
effect 2T is χ²₁ and 84 % of the pairs stay below; an effect that is worth an edge (16 nats) does
with a probability below 1e-4."""


def unseen_in_own_regime(data: InterventionalData, evidence: Evidence) -> BooleanMatrix:
    """Pairs (v, j) of which v is not to be a parent of j, by the means of regimes.

    In a screen, where regimes move the means of their targets, an edge out of v must show in the
    regime of v, and variables never acted on are not taken for causes at all: their direction
    would rest on dependences of noisy readings. Where no regime moves a mean (clamps at random
    values) nothing is barred.
    """
    moved = np.flatnonzero(RegimeTests(data, AFFINE).is_moved)
    barred = np.zeros((data.n_variables, data.n_variables), dtype=bool)
    if len(moved):
        barred[moved] = evidence.nats[moved] <= MIN_SHOWN
        barred[evidence.never_acted_on] = True
    return barred
