"""Which samples go where: splits stratified over regimes, and splits by whole regimes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Int

from ucad._types import RegimeOf
from ucad.errors import InvalidInputError

__all__ = ["OBSERVATIONAL", "Rows", "rows_by_regime", "rows_stratified"]

OBSERVATIONAL = 0
"""The regime in which nothing is clamped."""

Rows: TypeAlias = Int[np.ndarray, " rows"]


def rows_stratified(
    regime: RegimeOf, fractions: Sequence[float], rng: np.random.Generator
) -> list[Rows]:
    """Deals the samples of every regime out in the given proportions.

    A regime with s samples gives the first p parts round(s · (f₁ + … + f_p)) samples together, so
    every part of every regime is within one sample of its share and no sample is lost.

    >>> parts = rows_stratified(np.array([0] * 8 + [1] * 4), [0.75, 0.25], np.random.default_rng(0))
    >>> [len(rows) for rows in parts]
    [9, 3]
    """
    if not np.isclose(sum(fractions), 1.0) or min(fractions) < 0:
        raise InvalidInputError(
            f"The fractions of a split must be at least 0 and sum to 1. Got {list(fractions)}."
        )
    parts: list[list[Rows]] = [[] for _ in fractions]
    for label in np.unique(regime):
        rows = rng.permutation(np.flatnonzero(regime == label))
        cuts = np.rint(len(rows) * np.cumsum(fractions)[:-1]).astype(int)
        for part, piece in zip(parts, np.split(rows, cuts), strict=True):
            part.append(piece)
    return [np.sort(np.concatenate(part)) for part in parts]


def rows_by_regime(
    regime: RegimeOf, n_validation: int, n_test: int, rng: np.random.Generator
) -> list[Rows]:
    """Deals whole interventional regimes out to train, validation and test.

    The observational regime always goes to the first part (the paper's ablation (i)).
    """
    labels = np.unique(regime)
    interventional = rng.permutation(labels[labels != OBSERVATIONAL])
    n_held_out = n_validation + n_test
    if min(n_validation, n_test) < 0 or n_held_out >= len(interventional):
        raise InvalidInputError(
            f"A split by regimes must leave at least one interventional regime to train on. Got "
            f"{n_validation} for validation and {n_test} for test, of {len(interventional)}."
        )
    held_out = np.split(interventional[:n_held_out], [n_validation])
    validation, test = (np.isin(regime, part) for part in held_out)
    return [np.flatnonzero(which) for which in (~validation & ~test, validation, test)]
