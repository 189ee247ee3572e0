"""From what was clamped in every sample to regimes with a number and a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ucad._types import RegimeOf, WhichIntervened
from ucad.data.splits import OBSERVATIONAL
from ucad.data.targets import join_targets, split_targets

__all__ = ["Regimes", "named_regimes", "regimes_of", "regimes_of_labels"]


class Regimes(NamedTuple):
    """The regime of every sample, and one name per regime."""

    regime: RegimeOf
    names: tuple[str, ...]


def regimes_of(is_intervened: WhichIntervened) -> RegimeOf:
    """Numbers the distinct rows in the order of their appearance; 0 is the row of all False."""
    rows, first, inverse = np.unique(is_intervened, axis=0, return_index=True, return_inverse=True)
    first = np.where(rows.any(axis=1), first, -1)
    rank = np.argsort(np.argsort(first))
    starts_at = OBSERVATIONAL if (first == -1).any() else OBSERVATIONAL + 1
    return (rank[inverse.reshape(-1)] + starts_at).astype(np.int64)


def regimes_of_labels(
    labels: Sequence[str], variable_names: Sequence[str]
) -> tuple[Regimes, WhichIntervened]:
    """One regime per label in the order of appearance, "" being observational; what each clamps.

    >>> regimes, clamps = regimes_of_labels(["", "b", "b;a"], ["a", "b"])
    >>> regimes.names, clamps.tolist()
    (('observational', 'b', 'b;a'), [[False, False], [False, True], [True, True]])
    """
    known = {"": OBSERVATIONAL} | {
        label: number for number, label in enumerate(dict.fromkeys(filter(None, labels)), 1)
    }
    clamps = np.array([np.isin(variable_names, split_targets(label)) for label in known])
    regime = np.array([known[label] for label in labels], dtype=np.int64)
    return Regimes(regime, ("observational", *list(known)[1:])), clamps[regime]


def named_regimes(
    regime: RegimeOf, is_intervened: WhichIntervened, variable_names: Sequence[str]
) -> Regimes:
    """Names every regime by what it clamps, else by its number.

    Numbers beyond the number of samples (somebody's own codes) are made small first, so that they
    cost nothing; the name keeps them.
    """
    numbers, first, inverse = np.unique(regime, return_index=True, return_inverse=True)
    small = numbers
    if len(numbers) and numbers[-1] > len(regime):
        small = np.arange(len(numbers)) + (numbers[0] != OBSERVATIONAL)
        regime = small[inverse.reshape(-1)]
    names = [f"regime {number}" for number in range(int(small.max(initial=0)) + 1)]
    names[OBSERVATIONAL] = "observational"
    joined: set[str] = set()
    for number, at, row in zip(numbers.tolist(), small.tolist(), first, strict=True):
        label = join_targets(variable_names[j] for j in np.flatnonzero(is_intervened[row]).tolist())
        if at != OBSERVATIONAL:
            names[at] = label if label and label not in joined else f"regime {number}"
        joined.add(label)
    return Regimes(regime, tuple(names))
