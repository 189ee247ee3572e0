"""Borders of continuous features: values at which a network is about to decide otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.networks.behaviour.equivalence import block_signatures
from ucad.networks.features import MAX_LEVELS, Feature
from ucad.networks.subject import Subject

__all__ = ["border_values", "rows_away_from_borders"]

N_VALUES = 41
"""Values of a feature that are tried, evenly spread over its quantiles: a fortieth is resolved."""

N_CONTEXTS = 100
"""Contexts that each is tried in."""

BORDER_CHANGE = 0.8
"""Part of all changes between neighbouring values that the border holds; what is left are changes
at single contexts, which leave classes of settings where they are."""

MAX_BORDER = 0.35
"""Largest part of a feature's values that can be border; where changes are spread over more, the
feature acts gradually, and nothing is left out."""

MIN_ROWS = 400
"""Inputs that must be left to take settings and contexts from; with fewer, all are used."""


def rows_away_from_borders(
    subject: Subject, features: Sequence[Feature], seed: int = 0
) -> Int[np.ndarray, " rows"]:
    """Numbers of the inputs in which no feature lies at a border.

    A network that reads x > 0 from a continuous x has settings near 0 that are neither: they
    would form classes of their own, and a single feature seem to have three values. All inputs
    are given if too few are left.
    """
    everything = np.arange(subject.n_inputs)
    away = np.ones(subject.n_inputs, dtype=bool)
    contexts = subject.draw(N_CONTEXTS, np.random.default_rng(seed + 2))
    for feature in features:
        values = feature.values(subject.inputs)
        if values.shape[1] > 1 or len(np.unique(values)) <= MAX_LEVELS:
            continue
        away &= ~_at_border(subject, feature, values[:, 0], contexts)
    left = everything[away]
    return left if len(left) >= MIN_ROWS else everything


def border_values(change: Float[np.ndarray, " steps"]) -> Bool[np.ndarray, " steps"]:
    """The fewest steps between neighbouring values that hold 0.8 of all changes.

    None if they are more than 0.35 of the steps.

    >>> border_values(np.array([0.0, 0.0, 0.5, 0.0, 0.0])).tolist()
    [False, False, True, False, False]
    >>> bool(border_values(np.ones(10)).any())
    False
    """
    order = np.argsort(-change, kind="stable")
    needed = int(np.searchsorted(np.cumsum(change[order]), BORDER_CHANGE * change.sum())) + 1
    found = np.zeros(len(change), dtype=bool)
    if change.sum() > 0 and needed <= MAX_BORDER * len(change):
        found[order[:needed]] = True
    return found


def _at_border(
    subject: Subject, feature: Feature, values: np.ndarray, contexts: np.ndarray
) -> Bool[np.ndarray, " inputs"]:
    order = np.argsort(values, kind="stable")
    tried = order[np.linspace(0, len(order) - 1, N_VALUES).astype(int)]
    found = block_signatures(subject, [feature], tried, contexts)
    border = border_values((found[1:] != found[:-1]).mean(axis=1))
    step = np.clip(np.searchsorted(values[tried], values, side="right") - 1, 0, N_VALUES - 2)
    return np.asarray(border[step])
