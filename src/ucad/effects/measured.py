"""The change of every variable's mean that each regime brought, with its standard error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.data import OBSERVATIONAL, InterventionalData
from ucad.errors import InvalidInputError

__all__ = ["MeasuredChanges", "measured_changes"]

MIN_SAMPLES = 2
"""Samples of a regime, or of the controls, without which there is no standard error."""


@dataclass(frozen=True, eq=False)
class MeasuredChanges:
    """d_r = mean of x in regime r − mean of x in the controls, in units of their spread.

    Attributes:
        regimes: the numbers of the regimes, as in the data.
        names: of the regimes.
        n_samples: of the regimes.
        change: d, in standard deviations of the variable in the controls.
        error: the standard error of d, √(s²/n_r + 1/n_0) with s² the variance in the regime.
        targets: True where a regime acts on the variable.
        mean: of every variable in the controls.
        sd: its standard deviation there; 1 where it does not vary.
        control: the rows that serve as controls.
    """

    regimes: Int[np.ndarray, " regimes"]
    names: tuple[str, ...]
    n_samples: Int[np.ndarray, " regimes"]
    change: Float[np.ndarray, "regimes variables"]
    error: Float[np.ndarray, "regimes variables"]
    targets: Bool[np.ndarray, "regimes variables"]
    mean: Float[np.ndarray, " variables"]
    sd: Float[np.ndarray, " variables"]
    control: Int[np.ndarray, " rows"]

    def others(self, row: int) -> Int[np.ndarray, " others"]:
        """All regimes but one."""
        return np.delete(np.arange(len(self.names)), row)


def measured_changes(data: InterventionalData) -> MeasuredChanges:
    """Compares every regime with the controls.

    Raises:
        InvalidInputError: there are no controls, or no regime of two samples or more.
    """
    control = np.flatnonzero(data.regime == OBSERVATIONAL)
    if len(control) < MIN_SAMPLES:
        raise InvalidInputError(
            f"Changes are measured against controls, and {len(control)} samples are controls. "
            f"Name their label (control=…, --control)."
        )
    numbers, counts = np.unique(data.regime, return_counts=True)
    used = (numbers != OBSERVATIONAL) & (counts >= MIN_SAMPLES)
    if not used.any():
        raise InvalidInputError("No regime with two samples or more acts on anything.")
    at_rest = data.x[control].astype(np.float64)
    mean, sd = at_rest.mean(axis=0), at_rest.std(axis=0)
    sd = np.where(sd > 0, sd, 1.0)
    parts = [data.x[data.regime == number] for number in numbers[used]]
    means = np.stack([part.mean(axis=0, dtype=np.float64) for part in parts])
    spread = np.stack([part.var(axis=0, ddof=1, dtype=np.float64) for part in parts]) / sd**2
    n = counts[used]
    return MeasuredChanges(
        numbers[used],
        tuple(data.regime_names[number] for number in numbers[used]),
        n,
        (means - mean) / sd,
        np.sqrt(spread / n[:, None] + 1 / len(control)),
        data.targets[numbers[used]],
        mean,
        sd,
        control,
    )
