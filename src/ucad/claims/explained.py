"""How much of what interventions do is predicted, judged without the model's own noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ucad.claims.answers import Answer
from ucad.claims.ridge import CLIP

__all__ = ["Effect", "effect_of", "explained_answer", "pooled", "response_basis"]

GOOD, POOR = 0.8, 0.4
"""Explained shares of what interventions do: predictions are good from the first on, poor below the
second."""

HALF = 0.5
"""An intervention of which less than half is predicted is named."""

SIGNIFICANT = 4.0
"""Standard errors of pure noise that what an intervention does must exceed to count as seen."""

STANDARD_ERRORS = 2.0
"""Half the width of the interval in which the explained share is taken to lie."""

FIXED = 1e-3
"""The standard deviation of a target, in units of the free variable's, below which it was fixed."""

MAX_VARYING_FOR_PRODUCTS = 3
"""With more varying targets, their products are left out: they grow too many."""

Matrix = Float[np.ndarray, "_ _"]


@dataclass(frozen=True)
class Effect:
    """What one intervention does, and what a prediction misses of it; sums over free variables.

    Attributes:
        signal: the variance that the intervention explains beside no effect at all.
        signal_error: its standard error if there is no effect.
        missed: the variance that it explains beside the prediction.
        missed_error: its standard error.
        permuted: the same as `missed`, for predictions given to the wrong variables.
    """

    signal: float
    signal_error: float
    missed: float
    missed_error: float
    permuted: float

    @property
    def is_seen(self) -> bool:
        """Whether the intervention does anything that noise does not."""
        return self.signal > SIGNIFICANT * self.signal_error

    @property
    def explained(self) -> float:
        """1 − missed / signal: 1 if all is predicted, 0 if no effect would do as well."""
        return 1 - self.missed / max(self.signal, 1e-300)

    @property
    def explained_by_permuted(self) -> float:
        """The same if the predictions are given to the wrong variables."""
        return 1 - self.permuted / max(self.signal, 1e-300)

    @property
    def error(self) -> float:
        """The standard error of the explained share."""
        return self.missed_error / max(self.signal, 1e-300)

    @property
    def is_missed(self) -> bool:
        """Whether less than half is predicted, beyond what chance does."""
        return self.is_seen and (self.missed - SIGNIFICANT * self.missed_error > HALF * self.signal)


def response_basis(x: Float[np.ndarray, "rows targets"]) -> Matrix:
    """An orthonormal basis of 1, x_t, x_t² and x_s x_t of the targets that vary.

    >>> response_basis(np.ones((4, 2))).shape
    (4, 1)
    """
    varying = np.clip(x[:, x.std(axis=0) > FIXED], -CLIP, CLIP)
    pieces = [np.ones((len(x), 1)), varying, varying**2]
    if 1 < varying.shape[1] <= MAX_VARYING_FOR_PRODUCTS:
        first, second = np.triu_indices(varying.shape[1], k=1)
        pieces.append(varying[:, first] * varying[:, second])
    columns = np.concatenate(pieces, axis=1)
    u, size, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(u[:, size > 1e-9 * size[0]])


def effect_of(
    truth: Matrix,
    predicted: Matrix,
    baseline: Float[np.ndarray, " variables"],
    targets: Bool[np.ndarray, " variables"],
    order: np.ndarray,
) -> Effect:
    """Compares what one regime did with what was predicted for it.

    With P the projection onto functions of the values that the targets were set to, and k its
    dimension, ‖P y‖² − k σ̂² estimates without bias what of y the intervention explains, whatever
    else acts on y: y is x − baseline for the signal, and x − prediction for what was missed.

    Args:
        truth: the samples of the regime.
        predicted: the same samples as predicted from the values of the targets.
        baseline: the mean of every variable without the intervention.
        targets: what was acted on.
        order: a permutation of the variables, for predictions of the wrong ones.
    """
    basis = response_basis(truth[:, targets])
    free = ~targets
    signal, noise, _ = _explained_by(basis, (truth - baseline)[:, free])
    missed, _, error = _explained_by(basis, (truth - predicted)[:, free])
    wrong, _, _ = _explained_by(basis, (truth - predicted[:, order])[:, free])
    return Effect(signal, noise, missed, error, wrong)


def _explained_by(basis: Matrix, y: Matrix) -> tuple[float, float, float]:
    """Σ_j (‖P y_j‖² − k σ̂_j²) / N, and its standard error without and with a true signal.

    The variance is 2 k σ⁴ for noise alone, and 4 σ² ‖P y‖² more with a signal.
    """
    n, k = basis.shape
    power = ((basis.T @ y) ** 2).sum(axis=0)
    spread = np.maximum((y**2).sum(axis=0) - power, 0.0) / max(n - k, 1)
    own = power - k * spread
    alone = 2 * k * spread**2
    beside = alone + 4 * spread * np.maximum(own, 0.0)
    return float(own.sum()) / n, float(np.sqrt(alone.sum())) / n, float(np.sqrt(beside.sum())) / n


def pooled(effects: Sequence[Effect]) -> Effect:
    """All interventions together."""
    return Effect(
        sum(one.signal for one in effects),
        float(np.sqrt(sum(one.signal_error**2 for one in effects))),
        sum(one.missed for one in effects),
        float(np.sqrt(sum(one.missed_error**2 for one in effects))),
        sum(one.permuted for one in effects),
    )


def explained_answer(effects: Sequence[Effect], *, is_permuted_another: bool) -> Answer:
    """Yes if at least 80 % is predicted and no intervention is missed by more than half.

    Not known if interventions do nothing that could be seen, and no if they were predicted to.

    Args:
        effects: one per intervention.
        is_permuted_another: whether giving predictions to other variables makes another model.
    """
    total = pooled(effects)
    if not total.is_seen:
        is_invented = total.missed > SIGNIFICANT * total.missed_error
        return Answer.NO if is_invented else Answer.UNKNOWN
    most = total.explained + STANDARD_ERRORS * total.error
    least = total.explained - STANDARD_ERRORS * total.error
    if most < POOR or (is_permuted_another and total.explained <= total.explained_by_permuted):
        return Answer.NO
    if least < POOR and most > GOOD:
        return Answer.UNKNOWN
    is_good = total.explained >= GOOD and not any(one.is_missed for one in effects)
    return Answer.YES if is_good else Answer.PARTLY
