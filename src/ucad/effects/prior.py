"""What other regimes say of a new one: their mean change, and how much each evidence counts."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from ucad.effects.measured import MeasuredChanges

__all__ = [
    "evidence_share",
    "evidence_weights",
    "expected_change",
    "expected_of_others",
    "judges_of",
]

MAX_JUDGES = 40
"""The most regimes on which evidence is judged: seconds for 200 regimes."""


N_BELIEVED = 5
"""Regimes that what is believed beforehand counts as much as. With two judging regimes that did the
same, their mean looked like a perfect prediction of a third that did something else: an error of
0.69 where the model had 0.13; with 1, 3, 5 and 10 it is 0.60, 0.35, 0.25 and 0.15, and from 10 on
three judges are no longer heard."""


def expected_change(changes: MeasuredChanges, row: int) -> Float[np.ndarray, " variables"]:
    """The change to expect of a regime of which nothing is known but the others.

    m = mean over s of (1 − ‖e_s‖² / ‖d_s‖²)₊ d_s, where e_s are the standard errors of the change
    d_s: each change shrunk by the share of it that is noise (James–Stein), so that regimes that do
    nothing add no noise, then the mean.
    """
    return _shrunk_mean(changes, changes.others(row))


def expected_of_others(
    changes: MeasuredChanges, row: int, judges: Int[np.ndarray, " judges"]
) -> Float[np.ndarray, "judges variables"]:
    """The change to expect of each judge, of which nothing is known but the others, `row` left out.

    Like this a judge shows what expecting would have been worth for a regime that is new.
    """
    everyone = changes.others(row)
    rest = [_shrunk_mean(changes, everyone[everyone != judge]) for judge in judges]
    return np.array(rest).reshape(len(judges), changes.change.shape[1])


def judges_of(changes: MeasuredChanges, row: int) -> Int[np.ndarray, " judges"]:
    """The other regimes on which evidence is judged: up to 40, evenly from strong to weak."""
    others = changes.others(row)
    strength = ((changes.change[others] / changes.error[others]) ** 2).mean(axis=1)
    places = np.linspace(0, len(others) - 1, min(len(others), MAX_JUDGES)).round().astype(int)
    return np.sort(others[np.argsort(-strength, kind="stable")[places]])


def _shrunk_mean(
    changes: MeasuredChanges, others: Int[np.ndarray, " others"]
) -> Float[np.ndarray, " variables"]:
    """What a regime does to its own targets is no part of what it does to the rest."""
    free = ~changes.targets[others]
    change, error = changes.change[others] * free, changes.error[others] * free
    size = np.maximum((change**2).sum(axis=1), np.finfo(float).tiny)
    signal = np.maximum(0.0, 1 - (error**2).sum(axis=1) / size)
    return np.asarray((signal[:, None] * change).sum(axis=0) / np.maximum(free.sum(axis=0), 1))


def evidence_weights(
    changes: MeasuredChanges,
    judges: Int[np.ndarray, " judges"],
    evidence: Float[np.ndarray, "kinds judges variables"],
    believed: Float[np.ndarray, " kinds"] | None = None,
) -> Float[np.ndarray, " kinds"]:
    """How much each kind of evidence counts, by how well all together predicted other regimes.

    γ ≥ 0 minimises Σ_s ‖d_s − p_s γ‖² + c/S ‖p_s (γ − γ°)‖² over the S judging regimes, in units of
    their standard errors: what is believed of γ beforehand counts as much as c regimes, so that it
    decides between kinds that few regimes do not tell apart. Kinds that say nothing of any judge
    get 0.
    """
    from scipy.optimize import nnls

    free = ~changes.targets[judges]
    errors = changes.error[judges]
    columns = np.stack([(kind / errors)[free] for kind in evidence], axis=1)
    measured = (changes.change[judges] / errors)[free]
    if believed is None:
        return np.asarray(nnls(columns, measured)[0])
    prior = columns * np.sqrt(N_BELIEVED / max(len(judges), 1))
    both = np.concatenate([columns, prior]), np.concatenate([measured, prior @ believed])
    return np.asarray(nnls(*both)[0])


def evidence_share(
    own: Float[np.ndarray, " variables"], expected: Float[np.ndarray, " variables"]
) -> float:
    """How much of a prediction p + m is the regime's own evidence, ‖p‖² / (‖p‖² + ‖m‖²)."""
    size, usual = float((own**2).sum()), float((expected**2).sum())
    return size / (size + usual) if size + usual > 0 else 0.0
