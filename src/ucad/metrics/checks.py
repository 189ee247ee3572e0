"""What every metric asks of its input, and the one warning they share."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from jaxtyping import Bool

from ucad._types import BooleanMatrix, FactorSamples
from ucad.errors import InvalidInputError

__all__ = [
    "ConstantFactorWarning",
    "FactorPair",
    "check_factors",
    "check_matrix",
    "check_structure",
    "constant_columns",
    "note_on_constant_factors",
    "warn_of_constant_factors",
]

FEWEST_SAMPLES = 3
"""Samples that a metric needs: two points always lie on a line, and every correlation is 1."""

RELATIVE_RANGE_OF_A_CONSTANT = 1e-12
"""A column whose range is below this share of its largest value is constant: what is left is the
rounding of double precision, with some room for sums."""


class ConstantFactorWarning(UserWarning):
    """A factor without variation, which no metric can credit: it counts 0."""


class FactorPair(NamedTuple):
    """Learned and true factors on the same samples, checked, as float64."""

    learned: FactorSamples
    true: FactorSamples


def check_factors(learned: npt.ArrayLike, true: npt.ArrayLike) -> FactorPair:
    """Returns both as float64 arrays (samples, factors), or says what is wrong with them.

    Refused: other than two axes, NaN or infinity, fewer than 3 samples, more factors than samples,
    and different numbers of samples. The numbers of factors may differ.

    >>> check_factors([[1, 2], [3, 4], [5, 7]], [[1], [2], [3]]).true.shape
    (3, 1)
    """
    pair = FactorPair(check_matrix(learned, "learned factors"), check_matrix(true, "true factors"))
    if len(pair.learned) != len(pair.true):
        raise InvalidInputError(
            "The learned and the true factors must be given on the same samples. "
            f"Got {len(pair.learned)} learned and {len(pair.true)} true samples instead."
        )
    for name, (n_samples, n_factors) in (("learned", pair[0].shape), ("true", pair[1].shape)):
        if n_factors > n_samples:
            raise InvalidInputError(
                f"There must be no more {name} factors than samples. Got {n_factors} factors on "
                f"{n_samples} samples instead. Are the axes swapped? They are (samples, factors)."
            )
    return pair


def check_matrix(values: npt.ArrayLike, name: str) -> FactorSamples:
    """Returns `values` as a float64 array (samples, columns); `name` is used in the message."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"The {name} must be an array of numbers. {error}") from error
    if array.ndim != 2 or array.shape[1] == 0:
        raise InvalidInputError(
            f"The {name} must have two axes, (samples, columns), and at least one column. "
            f"Got the shape {array.shape} instead. A single factor is a column: z[:, None]."
        )
    if len(array) < FEWEST_SAMPLES:
        raise InvalidInputError(
            f"The {name} must have at least {FEWEST_SAMPLES} samples. Got {len(array)} instead."
        )
    n_bad = int(np.sum(~np.isfinite(array)))
    if n_bad:
        raise InvalidInputError(
            f"The {name} must be finite. Got {n_bad} NaN or infinite values instead. "
            "Drop or repair those samples first."
        )
    return array


def check_structure(
    Q: npt.ArrayLike, R: npt.ArrayLike, name: str
) -> tuple[BooleanMatrix, BooleanMatrix]:
    """Returns Q and R as Boolean arrays (variables, factors) that can belong to one graph."""
    checked = []
    for letter, matrix in (("Q", Q), ("R", R)):
        array = np.asarray(matrix)
        if array.ndim != 2 or not np.isin(array, (0, 1)).all():
            raise InvalidInputError(
                f"{letter} of the {name} graph must be a matrix of zeros and ones, (variables, "
                f"factors). Got the shape {array.shape} and the type {array.dtype} instead."
            )
        checked.append(array.astype(bool))
    if checked[0].shape != checked[1].shape:
        raise InvalidInputError(
            f"Q and R of the {name} graph must have the same shape (variables, factors). "
            f"Got {checked[0].shape} and {checked[1].shape} instead."
        )
    both = np.argwhere(checked[0] & checked[1])
    if len(both):
        raise InvalidInputError(
            f"No variable of the {name} graph may be parent and child of one factor. "
            f"Got variable {both[0][0]} and factor {both[0][1]} instead."
        )
    return checked[0], checked[1]


def constant_columns(values: FactorSamples) -> Bool[np.ndarray, " factors"]:
    """Returns which columns do not vary, beyond the rounding of their largest entry.

    >>> constant_columns(np.array([[1.0, 2.0], [1.0, 3.0]])).tolist()
    [True, False]
    """
    spread = np.ptp(values, axis=0)
    return np.asarray(spread <= RELATIVE_RANGE_OF_A_CONSTANT * np.abs(values).max(axis=0))


def note_on_constant_factors(pair: FactorPair) -> str:
    """Returns a sentence that names all factors that do not vary, or an empty string."""
    names = [f"learned factor {k}" for k in np.flatnonzero(constant_columns(pair.learned))]
    names += [f"true factor {k}" for k in np.flatnonzero(constant_columns(pair.true))]
    return f"Without variation, and so counted as 0: {', '.join(names)}." if names else ""


def warn_of_constant_factors(pair: FactorPair) -> None:
    """Warns once of all factors that do not vary, on behalf of the caller's caller."""
    note = note_on_constant_factors(pair)
    if note:
        warnings.warn(note, ConstantFactorWarning, stacklevel=3)
