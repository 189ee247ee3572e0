"""What other regimes say of a new one: their mean change, and how far to trust a model instead."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.effects.measured import MeasuredChanges

__all__ = ["Expectation", "expected_change", "model_weight"]

MAX_JUDGES = 40
"""The most regimes, the strongest first, on which the weight of a model is judged: a
second for 200 regimes."""

MIN_REGIMES = 3
"""Other regimes without which a model cannot be judged."""


class Expectation(NamedTuple):
    """What to expect of a regime from the others, and of each of those from the rest.

    Attributes:
        change: of the regime.
        judges: the other regimes on which it was judged, as rows.
        of_judges: what is expected of each of them from all regimes but itself and the one in
            question.
    """

    change: Float[np.ndarray, " variables"]
    judges: Int[np.ndarray, " judges"]
    of_judges: Float[np.ndarray, "judges variables"]


def expected_change(changes: MeasuredChanges, row: int) -> Expectation:
    """The change to expect of a regime of which nothing is known but the others.

    m = mean over s of (1 − ‖e_s‖² / ‖d_s‖²)₊ d_s, where e_s are the standard errors of the change
    d_s: each change shrunk by the share of it that is noise (James–Stein), so that regimes that do
    nothing add no noise, then the mean.
    """
    others = changes.others(row)
    if len(others) < MIN_REGIMES:
        return Expectation(
            _shrunk_mean(changes, others), others[:0], np.zeros((0, changes.change.shape[1]))
        )
    strength = ((changes.change[others] / changes.error[others]) ** 2).mean(axis=1)
    judges = others[np.sort(np.argsort(-strength, kind="stable")[:MAX_JUDGES])]
    of_judges = [_shrunk_mean(changes, np.setdiff1d(others, [one])) for one in judges]
    return Expectation(_shrunk_mean(changes, others), judges, np.stack(of_judges))


def _shrunk_mean(
    changes: MeasuredChanges, others: Int[np.ndarray, " others"]
) -> Float[np.ndarray, " variables"]:
    """What a regime does to its own targets is no part of what it does to the rest."""
    free = ~changes.targets[others]
    change, error = changes.change[others] * free, changes.error[others] * free
    size = np.maximum((change**2).sum(axis=1), np.finfo(float).tiny)
    signal = np.maximum(0.0, 1 - (error**2).sum(axis=1) / size)
    return np.asarray((signal[:, None] * change).sum(axis=0) / np.maximum(free.sum(axis=0), 1))


def model_weight(
    changes: MeasuredChanges,
    expectation: Expectation,
    predicted: Float[np.ndarray, "regimes variables"],
    reached: Bool[np.ndarray, " regimes"],
) -> float:
    """How far to go from what is expected to what a model predicts, w in [0, 1].

    w minimises Σ_s ‖d_s − (m_s + w (p_s − m_s))‖² over the other regimes s that the model speaks
    of, in units of their standard errors: the empirical-Bayes weight of a prediction whose error is
    judged by how it did elsewhere. Without such regimes it is 1: nothing speaks against the model.
    """
    chosen = reached[expectation.judges]
    rows, expected = expectation.judges[chosen], expectation.of_judges[chosen]
    step, rest = (
        (values[rows] - expected) / changes.error[rows] * ~changes.targets[rows]
        for values in (predicted, changes.change)
    )
    size = float((step**2).sum())
    return 1.0 if size <= 0 else float(np.clip((step * rest).sum() / size, 0.0, 1.0))
