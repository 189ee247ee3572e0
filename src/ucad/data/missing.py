"""Missing values: refused, left out by the sample, or filled in and marked."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from ucad._types import VariableSamples, WhichIntervened
from ucad.data.checks import check_finite, some
from ucad.errors import InvalidInputError, did_you_mean

if TYPE_CHECKING:
    from ucad.data.dataset import InterventionalData

__all__ = ["POLICIES", "Filled", "check_policy", "without_missing"]

POLICIES = ("error", "drop", "mean")
"""What can be done about missing values, the default first."""

MIN_ROWS = 2
"""Samples that must be left."""

_logger = logging.getLogger(__name__)


class Filled(NamedTuple):
    """Samples without a missing value.

    Attributes:
        x: the samples that are left, every value in place.
        rows: which of the samples these are.
        is_missing: True where a value was filled in; None if nowhere.
        notes: what was done, one sentence each.
    """

    x: VariableSamples
    rows: Int[np.ndarray, " rows"]
    is_missing: WhichIntervened | None = None
    notes: tuple[str, ...] = ()

    def marked(self, data: InterventionalData, *notes: str) -> InterventionalData:
        """The data set made of `x`, with what was filled in and what was said."""
        return replace(data, is_missing=self.is_missing, notes=(*notes, *self.notes))


def check_policy(policy: str) -> None:
    """Refuses a policy that is none."""
    if policy not in POLICIES:
        raise InvalidInputError(
            f"'missing' must be one of {', '.join(POLICIES)}. Got '{policy}' instead."
            f"{did_you_mean(policy, POLICIES)}"
        )


def without_missing(
    x: VariableSamples, names: Sequence[str], groups: Sequence[Hashable], policy: str
) -> Filled:
    """Does about missing values (NaN) what `policy` says.

    `error` refuses them. `drop` leaves out every sample that has one. `mean` puts the mean of the
    variable in the same regime in its place, or that of all samples where the regime has no value,
    and marks the entry: it has no term in the likelihood, as if it were clamped, but nobody takes
    it for an intervention.

    >>> x = np.array([[1.0, 2.0], [np.nan, 4.0], [3.0, 9.0]])
    >>> without_missing(x, ["a", "b"], ["", "", ""], "mean").x.tolist()
    [[1.0, 2.0], [2.0, 4.0], [3.0, 9.0]]

    Args:
        x: the measurements.
        names: one per variable.
        groups: the regime of every sample, by whatever tells them apart.
        policy: one of `POLICIES`.
    """
    check_policy(policy)
    everything = np.arange(len(x))
    if policy == "error" or x.dtype.kind != "f" or not (gap := np.isnan(x)).any():
        return Filled(x, everything)
    check_finite(np.where(gap, 0.0, x), names)
    empty = [names[j] for j in np.flatnonzero(gap.all(axis=0)).tolist()]
    if empty:
        raise InvalidInputError(
            f"{len(empty)} variable(s) have no value at all: {some(empty)}. Leave them out "
            f"(--ignore, or --drop-constant)."
        )
    filled = _dropped(x, gap) if policy == "drop" else _with_means(x, gap, groups)
    for note in filled.notes:
        _logger.warning("%s", note)
    return filled


def _dropped(x: VariableSamples, gap: Bool[np.ndarray, "samples variables"]) -> Filled:
    rows = np.flatnonzero(~gap.any(axis=1))
    if len(rows) < MIN_ROWS:
        raise InvalidInputError(
            f"Leaving out samples with a missing value leaves {len(rows)} of {len(x)}. Fill the "
            f"values in (--missing mean), or leave out the variables that lack most."
        )
    note = f"{len(x) - len(rows)} of {len(x)} samples are left out: they have missing values."
    return Filled(x[rows], rows, None, (note,))


def _with_means(
    x: VariableSamples, gap: Bool[np.ndarray, "samples variables"], groups: Sequence[Hashable]
) -> Filled:
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    regime = np.array([numbers[group] for group in groups])
    x = x.copy()
    for j in np.flatnonzero(gap.any(axis=0)).tolist():
        seen, missing = ~gap[:, j], gap[:, j]
        total = np.bincount(regime[seen], x[seen, j], minlength=len(numbers))
        count = np.bincount(regime[seen], minlength=len(numbers))
        mean = np.where(count > 0, total / np.maximum(count, 1), x[seen, j].mean())
        x[missing, j] = mean[regime[missing]]
    note = (
        f"{int(gap.sum())} missing values ({100 * gap.mean():.2g}% of all) in "
        f"{int(gap.any(axis=1).sum())} samples and {int(gap.any(axis=0).sum())} variables are "
        f"filled in by the mean of the regime, and left out of the likelihood."
    )
    return Filled(x, np.arange(len(x)), gap, (note,))
