"""Samples that are exact copies of others: a bootstrap, a join gone wrong, rows pasted twice."""

from __future__ import annotations

import logging

import numpy as np

from ucad.data.dataset import InterventionalData
from ucad.data.splits import Rows

__all__ = ["counted_once", "repeated_rows", "told_repeated"]

MIN_SHARE = 0.02
"""The share of samples from which copies are left out: enough to pass for evidence."""

N_LOOKED_AT = 1_000
"""Samples by which the variable with the most different values is found."""

_BLOCK = 10_000
"""Samples compared at a time, so that no second copy of large data is made."""

_logger = logging.getLogger(__name__)


def repeated_rows(data: InterventionalData) -> Rows:
    """The samples that are exact copies of another one of their regime, which is not among them.

    Rows that agree in the variable with the most different values are compared whole, with their
    context. If most of the other rows differ in that variable, equal rows are no coincidence; else,
    as with binary data, they may be, and there are none. Units of a network repeat where its
    inputs do.

    >>> x = np.random.default_rng(0).standard_normal((100, 3))
    >>> len(repeated_rows(InterventionalData.from_arrays(np.repeat(x, 2, axis=0))))
    100
    """
    x, regime = data.x, data.regime
    none = np.zeros(0, dtype=np.intp)
    if data.layer_of is not None or len(x) < 2:
        return none
    first = x[:N_LOOKED_AT]
    most = max(range(data.n_variables), key=lambda j: len(np.unique(first[:, j])))
    order = np.lexsort((regime, x[:, most]))
    key, group = x[order, most], regime[order]
    twice = np.flatnonzero((key[1:] == key[:-1]) & (group[1:] == group[:-1]))
    found = [none]
    for start in range(0, len(twice), _BLOCK):
        some = twice[start : start + _BLOCK]
        same = (x[order[some]] == x[order[some + 1]]).all(axis=1)
        if data.context is not None:
            w = data.context.values
            same &= (w[order[some]] == w[order[some + 1]]).all(axis=1)
        found.append(order[some + 1][same])
    copies = np.concatenate(found)
    return copies if 2 * len(np.unique(key)) > len(x) - len(copies) else none


def counted_once(data: InterventionalData) -> InterventionalData:
    """The data without samples that are copies of others, and a warning if there are some."""
    copies = repeated_rows(data)
    text = _told(len(copies), data.n_samples)
    if not text:
        return data
    _logger.warning(text)
    return data.select(np.delete(np.arange(data.n_samples), copies))


def told_repeated(data: InterventionalData) -> str:
    """What to know of repeated samples; nothing if there are few."""
    return _told(len(repeated_rows(data)), data.n_samples)


def _told(n_copies: int, n_samples: int) -> str:
    if n_copies < max(2.0, MIN_SHARE * n_samples):
        return ""
    return (
        f"{n_copies:,} of {n_samples:,} samples are exact copies of another one. Copies are no "
        "further evidence: with them chance looks like structure, and held-out samples have been "
        f"seen. A fit counts each sample once: {n_samples - n_copies:,}."
    )
