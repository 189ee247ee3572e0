"""Which samples each fit of a consensus sees: complementary halves, and all but some regimes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from ucad._types import RegimeOf
from ucad.data.splits import OBSERVATIONAL, Rows
from ucad.errors import InvalidInputError

__all__ = ["Draw", "Kind", "check_n_runs", "plan", "rows_of"]

MIN_RUNS = 4
"""Fewer fits than two pairs of halves say nothing about how often something comes back."""

MAX_RUNS = 10_000
"""More fits than this are a slip of the keyboard."""

SHARE_WITHOUT_REGIMES = 0.2
"""The part of the fits that leaves whole regimes out; the others are halves, which the error
control needs."""

N_FOLDS = 5
"""Regimes are left out a fifth at a time: enough to see what rests on few of them, and not so many
that directions are lost with the interventions that show them."""


class Kind(StrEnum):
    """How the samples of a fit were drawn."""

    HALF = "half"
    """One of two halves, stratified within regimes, that have no sample in common."""
    WITHOUT_REGIMES = "without regimes"
    """All samples but those of some interventional regimes."""


@dataclass(frozen=True)
class Draw:
    """One fit of a consensus.

    Attributes:
        kind: how its samples are drawn.
        deal: which random deal they belong to; the two halves of a pair have it in common.
        part: which half, or which fold of the regimes is left out.
        seed: of the deals; the same for all fits of a consensus.
    """

    kind: Kind
    deal: int
    part: int
    seed: int

    @property
    def fit_seed(self) -> int:
        """The solver's seed, different for every fit."""
        entropy = (self.seed, self.deal, self.part, list(Kind).index(self.kind))
        return int(np.random.SeedSequence(entropy).generate_state(1)[0])


def check_n_runs(n_runs: Any) -> None:
    """Refuses a number of fits that cannot be dealt out as pairs."""
    whole = isinstance(n_runs, int | np.integer) and not isinstance(n_runs, bool)
    if not whole or n_runs % 2 or not (n_runs == 0 or MIN_RUNS <= n_runs <= MAX_RUNS):
        raise InvalidInputError(
            f"The number of runs must be 0 for no consensus, or even (halves come in pairs) and "
            f"from {MIN_RUNS} to {MAX_RUNS}. Got {n_runs!r} instead."
        )


def plan(n_runs: int, regime: RegimeOf, seed: int) -> tuple[Draw, ...]:
    """Pairs of halves, and one fit in five without a fifth of the interventional regimes.

    Without interventional regimes to leave out, all fits are halves.

    >>> [sum(draw.kind is kind for draw in plan(50, np.arange(8), 0)) for kind in Kind]
    [40, 10]
    """
    check_n_runs(n_runs)
    n_folds = _n_folds(regime)
    n_without = 2 * int(n_runs * SHARE_WITHOUT_REGIMES / 2) if n_folds > 1 else 0
    halves = [
        Draw(Kind.HALF, pair, part, seed)
        for pair in range((n_runs - n_without) // 2)
        for part in (0, 1)
    ]
    others = [
        Draw(Kind.WITHOUT_REGIMES, number // n_folds, number % n_folds, seed)
        for number in range(n_without)
    ]
    return (*halves, *others)


def rows_of(draw: Draw, regime: RegimeOf) -> Rows:
    """The samples of a fit, in their order.

    Halves: the samples of every regime in random order, one regime after the other, dealt out in
    turn: each half has half of every regime, to within one sample, and half of all samples.
    """
    kind = list(Kind).index(draw.kind)
    rng = np.random.default_rng((draw.seed, draw.deal, kind))
    labels = rng.permutation(np.unique(regime))
    if draw.kind is Kind.HALF:
        dealt = np.concatenate([rng.permutation(np.flatnonzero(regime == r)) for r in labels])
        return np.sort(dealt[draw.part :: 2])
    left_out = labels[labels != OBSERVATIONAL][draw.part :: _n_folds(regime)]
    return np.flatnonzero(~np.isin(regime, left_out))


def _n_folds(regime: RegimeOf) -> int:
    present = np.unique(regime)
    return min(N_FOLDS, int((present != OBSERVATIONAL).sum()))
