"""Samples that are exact copies of others: a bootstrap, a join gone wrong, rows pasted twice."""

from __future__ import annotations

import logging

import numpy as np

from ucad.data.dataset import InterventionalData

__all__ = ["n_repeated", "say_repeated", "told_repeated"]

MIN_SHARE = 0.02
"""The share of samples from which copies are said: enough to pass for evidence."""

N_LOOKED_AT = 1_000
"""Samples by which the variable with the most different values is found."""

_BLOCK = 10_000
"""Samples compared at a time, so that no second copy of large data is made."""

_logger = logging.getLogger(__name__)


def n_repeated(data: InterventionalData) -> int:
    """How many samples are exact copies of another one of their regime.

    Rows that agree in the variable with the most different values are compared whole. If most of
    the other rows differ in that variable, equal rows are no coincidence; else, as with binary
    data, they may be, and none are counted. Units of a network repeat where its inputs do.

    >>> x = np.random.default_rng(0).standard_normal((100, 3))
    >>> n_repeated(InterventionalData.from_arrays(np.repeat(x, 2, axis=0)))
    100
    """
    x, regime = data.x, data.regime
    if data.layer_of is not None or len(x) < 2:
        return 0
    first = x[:N_LOOKED_AT]
    most = max(range(data.n_variables), key=lambda j: len(np.unique(first[:, j])))
    order = np.lexsort((regime, x[:, most]))
    key, group = x[order, most], regime[order]
    twice = np.flatnonzero((key[1:] == key[:-1]) & (group[1:] == group[:-1]))
    copies = 0
    for start in range(0, len(twice), _BLOCK):
        some = twice[start : start + _BLOCK]
        copies += int((x[order[some]] == x[order[some + 1]]).all(axis=1).sum())
    return copies if 2 * len(np.unique(key)) > len(x) - copies else 0


def say_repeated(data: InterventionalData) -> None:
    """Warns of samples that are copies of others."""
    text = told_repeated(data)
    if text:
        _logger.warning(text)


def told_repeated(data: InterventionalData) -> str:
    """What to know of repeated samples, and what to do about them; nothing if there are few."""
    copies = n_repeated(data)
    if copies < max(2.0, MIN_SHARE * data.n_samples):
        return ""
    return (
        f"{copies:,} of {data.n_samples:,} samples are exact copies of another one. Copies are "
        "no further evidence: with them chance looks like structure, and held-out samples have "
        "been seen. Leave them out before you fit."
    )
