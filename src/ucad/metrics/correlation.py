"""Correlation matrices of learned and true factors, the best matching, and its mean (MCC)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import scipy.optimize
import scipy.stats
from jaxtyping import Float

from ucad._types import FactorSamples
from ucad.metrics.checks import (
    FactorPair,
    check_factors,
    constant_columns,
    warn_of_constant_factors,
)
from ucad.metrics.rdc import (
    Bases,
    RDCSettings,
    frequencies_of,
    largest_canonical_correlations,
    randomised_dependence,
    sine_bases,
)
from ucad.metrics.resampling import Resampler

__all__ = [
    "MCC",
    "Correlation",
    "FixedSide",
    "best_matching",
    "correlation_bases",
    "correlation_matrix",
    "mean_correlation",
    "resampled_correlations",
    "side_bases",
]


class Correlation(StrEnum):
    """Which coefficient, by what leaves it alone."""

    PEARSON = "pearson"
    """Affine maps of a factor."""
    SPEARMAN = "spearman"
    """Monotone maps of a factor."""
    RDC = "rdc"
    """Nearly all invertible maps of a factor."""


@dataclass(frozen=True)
class MCC:
    """A correlation matrix with its best one-to-one matching.

    Attributes:
        matrix: absolute correlations, (learned, true).
        learned: the matched learned factors, in the order of `true`.
        true: the matched true factors, ascending.
        values: the correlation of each matched pair.
        coefficient: what was computed, with its settings.
    """

    matrix: Float[np.ndarray, "n_learned n_true"]
    learned: tuple[int, ...]
    true: tuple[int, ...]
    values: Float[np.ndarray, " pairs"]
    coefficient: str

    @property
    def mean(self) -> float:
        """The mean over the true factors; one without a partner counts 0."""
        return float(self.values.sum()) / self.matrix.shape[1]

    @property
    def over_pairs(self) -> float:
        """The mean over the matched pairs alone, for concepts that need not all be factors."""
        return float(self.values.mean())

    @property
    def unmatched_learned(self) -> tuple[int, ...]:
        """The learned factors that were left over."""
        return tuple(sorted(set(range(self.matrix.shape[0])) - set(self.learned)))

    @property
    def unmatched_true(self) -> tuple[int, ...]:
        """The true factors that were left over."""
        return tuple(sorted(set(range(self.matrix.shape[1])) - set(self.true)))

    @property
    def averaged_over(self) -> str:
        """Which pairs were matched, and who has no partner."""
        n_learned, n_true = self.matrix.shape
        text = f"{len(self.values)} matched pairs of {n_learned} learned and {n_true} true factors"
        left_over = [f"learned factor {k}" for k in self.unmatched_learned]
        left_over += [f"true factor {k}" for k in self.unmatched_true]
        return f"{text}; unmatched: {', '.join(left_over)}" if left_over else text

    def __str__(self) -> str:
        pairs = ", ".join(
            f"{learned}→{true} {value:.3f}"
            for learned, true, value in zip(self.learned, self.true, self.values, strict=True)
        )
        return (
            f"MCC ({self.coefficient}) {self.mean:.4f} over {self.averaged_over}. "
            f"Learned→true: {pairs}."
        )


def mean_correlation(
    learned: npt.ArrayLike,
    true: npt.ArrayLike,
    coefficient: Correlation = Correlation.PEARSON,
    rdc: RDCSettings | None = None,
) -> MCC:
    """Returns the mean correlation coefficient with all that went into it.

        MCC = max over one-to-one matchings π of mean_k |corr(ẑ_π(k), z_k)|

    The numbers of factors may differ: a true factor without a partner counts 0, and the result
    names the factors left over. A constant factor counts 0, with a warning.

    Cost: O(samples · learned · true), and the Hungarian algorithm on the matrix.
    Source: the paper's section "Metrics".

    >>> z = np.random.default_rng(0).standard_normal((200, 2))
    >>> print(mean_correlation(-3 * z[:, ::-1], z))
    MCC (pearson) 1.0000 over 2 matched pairs of 2 learned and 2 true factors. \
Learned→true: 1→0 1.000, 0→1 1.000.
    """
    pair = check_factors(learned, true)
    warn_of_constant_factors(pair)
    matrix = correlation_matrix(pair.learned, pair.true, coefficient, rdc)
    rows, columns = best_matching(matrix)
    is_rdc = coefficient is Correlation.RDC
    return MCC(
        matrix=matrix,
        learned=rows,
        true=columns,
        values=matrix[list(rows), list(columns)],
        coefficient=f"rdc, {rdc or RDCSettings()}" if is_rdc else coefficient.value,
    )


def correlation_matrix(
    learned: Float[np.ndarray, "samples learned"],
    true: Float[np.ndarray, "samples true"],
    coefficient: Correlation = Correlation.PEARSON,
    rdc: RDCSettings | None = None,
) -> Float[np.ndarray, "learned true"]:
    """Returns the absolute correlation of every learned with every true factor, 0 for constants.

    >>> z = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 4.0]])
    >>> correlation_matrix(z, z).round(3).tolist()
    [[1.0, 0.866], [0.866, 1.0]]
    """
    if coefficient is Correlation.RDC and rdc is not None and rdc.remove_bias:
        return randomised_dependence(learned, true, rdc).values
    return largest_canonical_correlations(
        *correlation_bases(FactorPair(learned, true), coefficient, rdc)
    )


def best_matching(
    matrix: Float[np.ndarray, "learned true"],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the matched (learned, true) indices of the largest total, ordered by true.

    >>> best_matching(np.array([[0.1, 0.9], [0.8, 0.7], [0.0, 0.0]]))
    ((1, 0), (0, 1))
    """
    rows, columns = scipy.optimize.linear_sum_assignment(matrix, maximize=True)
    order = np.argsort(columns)
    return tuple(rows[order].tolist()), tuple(columns[order].tolist())


def correlation_bases(
    pair: FactorPair, coefficient: Correlation, rdc: RDCSettings | None = None
) -> tuple[Bases, Bases]:
    """Returns orthonormal functions of each factor whose canonical correlation is the coefficient.

    For Pearson that is the centred factor itself, for Spearman its centred ranks (one function
    each, so that the canonical correlation is the absolute correlation), for RDC the sine features.
    """
    return (
        side_bases(pair.learned, 0, coefficient, rdc),
        side_bases(pair.true, 1, coefficient, rdc),
    )


def side_bases(
    z: FactorSamples, side: int, coefficient: Correlation, rdc: RDCSettings | None = None
) -> Bases:
    """Returns the bases of the learned (side 0) or of the true factors (side 1) alone."""
    if coefficient is Correlation.RDC:
        settings = RDCSettings() if rdc is None else rdc
        return sine_bases(z, frequencies_of(settings)[side], settings)
    return _unit_columns(z, coefficient is Correlation.SPEARMAN)


class FixedSide:
    """MCC of many factors with the same ones, whose part is computed once.

    Args:
        z: the factors that stay.
        side: 0 if they are the learned ones, 1 if they are the true ones.
        coefficient: which.
        rdc: its settings, for RDC.
    """

    def __init__(
        self, z: FactorSamples, side: int, coefficient: Correlation, rdc: RDCSettings | None
    ) -> None:
        self._z, self._side, self._coefficient, self._rdc = z, side, coefficient, rdc
        self._bases = side_bases(z, side, coefficient, rdc)

    def mcc(self, other: FactorSamples) -> float:
        """`MCC.mean` of the best matching with other factors of the same samples."""
        pair = (self._z, other) if self._side == 0 else (other, self._z)
        if self._coefficient is Correlation.RDC and self._rdc is not None and self._rdc.remove_bias:
            return mean_correlation(*pair, self._coefficient, self._rdc).mean
        new = side_bases(other, 1 - self._side, self._coefficient, self._rdc)
        bases = (self._bases, new) if self._side == 0 else (new, self._bases)
        matrix = largest_canonical_correlations(*bases)
        rows, columns = best_matching(matrix)
        return float(matrix[list(rows), list(columns)].sum()) / matrix.shape[1]


def resampled_correlations(
    left: Bases, right: Bases, counts: Float[np.ndarray, " samples"]
) -> Float[np.ndarray, "learned true"]:
    """Returns the correlation matrix if sample i occurred `counts[i]` times.

    The functions in `left` and `right` are only centred and made orthonormal again under the new
    counts. For Pearson this is exact; for RDC the copula transform stays that of all samples.
    """
    return Resampler(left, right)(counts)


def _unit_columns(z: FactorSamples, is_ranked: bool) -> Bases:
    functions = scipy.stats.rankdata(z, axis=0) if is_ranked else z
    # Two passes: the first takes away a large offset, the second what it left by rounding.
    centred = functions - functions.mean(axis=0)
    centred = np.where(constant_columns(z), 0.0, centred - centred.mean(axis=0))
    # By the largest entry first, so that tiny or huge factors neither vanish nor overflow.
    largest = np.abs(centred).max(axis=0)
    centred = centred / np.where(largest > 0, largest, 1.0)
    length = np.linalg.norm(centred, axis=0)
    unit = centred / np.where(length > 0, length, 1.0)
    return np.asarray(unit.T[:, :, None])
