"""The randomised dependence coefficient, for one pair of samples or for all pairs at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.stats
from jaxtyping import Float

from ucad._types import FactorSamples
from ucad.errors import InvalidInputError
from ucad.metrics.checks import (
    FactorPair,
    check_factors,
    constant_columns,
    warn_of_constant_factors,
)

__all__ = [
    "Bases",
    "Dependence",
    "RDCSettings",
    "frequencies_of",
    "largest_canonical_correlations",
    "pair_of_sine_bases",
    "randomised_dependence",
    "sine_bases",
    "stack_bases",
]

Bases = Float[np.ndarray, "_ samples _"]
"""For each factor an orthonormal basis of functions of it, padded by zeros to equal rank."""


@dataclass(frozen=True, kw_only=True)
class RDCSettings:
    """The numbers without which a randomised dependence coefficient says nothing.

    The defaults are those of the authors' own code. A larger `scale` lets faster wiggles through:
    at 1/6 the features span little more than cubic polynomials of the ranks, so that y = cos(5x)
    on [-1, 1] has 0.6; at 3 it has 0.999.

    Attributes:
        n_features: k, random sine features per column.
        scale: s, the scale of their random frequencies.
        tolerance: a feature direction is dropped if what is left of it, after the directions before
            it, is smaller than this times the largest.
        seed: of the random frequencies, and of the permutations.
        remove_bias: whether to subtract what permuted samples have.
        n_permutations: how many permutations that is the mean of.
    """

    n_features: int = 20
    scale: float = 1 / 6
    tolerance: float = 1e-7
    seed: int = 0
    remove_bias: bool = False
    n_permutations: int = 20

    def __post_init__(self) -> None:
        for name in ("n_features", "scale", "tolerance", "n_permutations"):
            if not getattr(self, name) > 0:
                raise InvalidInputError(
                    f"The '{name}' setting of RDCSettings must be positive. "
                    f"Got {getattr(self, name)} instead."
                )

    def __str__(self) -> str:
        bias = f", bias removed by {self.n_permutations} permutations" if self.remove_bias else ""
        return (
            f"k={self.n_features}, s={self.scale:.4g}, tolerance={self.tolerance:g}, "
            f"seed={self.seed}{bias}"
        )


@dataclass(frozen=True)
class Dependence:
    """Randomised dependence coefficients of all pairs, beside the settings they belong to.

    Attributes:
        values: (learned, true), in [0, 1].
        bias: what permuted samples have, (learned, true), if it was removed.
        settings: k, s, tolerance and seed.
    """

    values: Float[np.ndarray, "learned true"]
    bias: Float[np.ndarray, "learned true"] | None
    settings: RDCSettings

    def __str__(self) -> str:
        return f"{np.array2string(self.values, precision=3)} ({self.settings})"


def randomised_dependence(
    learned: npt.ArrayLike, true: npt.ArrayLike, settings: RDCSettings | None = None
) -> Dependence:
    """Returns the randomised dependence coefficient of every learned with every true factor.

        u = rank(x) / N,   φ(u) = sin(s/2 · (u w + b)),   w, b ~ N(0, 1)ᵏ
        rdc(x, y) = largest canonical correlation of φ(u_x) and φ'(u_y)

    One set of frequencies serves all learned factors and another all true ones, so each pair has
    the authors' definition and relabelling factors only permutes the matrix. The canonical
    correlations come from a pivoted QR of each column's centred features, once per column, and the
    singular values of Q_iᵀ Q_j: always in [0, 1].

    *Bias*: the coefficient is a maximum, so independent samples do not have 0 but about
    sqrt(2 · rank / N): near 0.08 at N = 1,000 with the defaults. With `remove_bias`, b being the
    mean over permuted samples, the values are max(0, (rdc - b) / (1 - b)).

    Cost: O(N k² · columns) and then O(N · rank² · pairs).
    Source: Lopez-Paz, Hennig and Schölkopf, "The randomized dependence coefficient".

    >>> x = np.linspace(-1, 1, 500)[:, None]
    >>> bool(randomised_dependence(x, x**2).values[0, 0] > 0.99)
    True
    """
    settings = RDCSettings() if settings is None else settings
    pair = check_factors(learned, true)
    warn_of_constant_factors(pair)
    bases = pair_of_sine_bases(pair, settings)
    values = largest_canonical_correlations(*bases)
    if not settings.remove_bias:
        return Dependence(values, None, settings)
    bias = _permuted_mean(*bases, settings)
    return Dependence(np.maximum(0.0, (values - bias) / (1 - bias)), bias, settings)


def pair_of_sine_bases(pair: FactorPair, settings: RDCSettings) -> tuple[Bases, Bases]:
    """Returns the bases of the learned and of the true factors, with frequencies of their own."""
    frequencies = frequencies_of(settings)
    return (
        sine_bases(pair.learned, frequencies[0], settings),
        sine_bases(pair.true, frequencies[1], settings),
    )


def frequencies_of(
    settings: RDCSettings,
) -> tuple[Float[np.ndarray, "2 k"], Float[np.ndarray, "2 k"]]:
    """Returns w and b of the learned and of the true factors."""
    rng = np.random.default_rng(settings.seed)
    shape = (2, settings.n_features)
    return rng.standard_normal(shape), rng.standard_normal(shape)


def sine_bases(
    z: FactorSamples, frequencies: Float[np.ndarray, "2 k"], settings: RDCSettings
) -> Bases:
    """Returns, for each column, an orthonormal basis of its centred sine features.

    Columns without ties have the same ranks in another order, so they share one decomposition.
    """
    ranks = scipy.stats.rankdata(z, axis=0)
    constant = constant_columns(z)
    untied = np.arange(1, len(z) + 1)
    shared: Float[np.ndarray, "samples _"] | None = None
    bases = []
    for k in range(z.shape[1]):
        if constant[k]:
            bases.append(np.zeros((len(z), 0)))
        elif np.array_equal(np.sort(ranks[:, k]), untied):
            if shared is None:
                shared = _sine_basis(untied / len(z), frequencies, settings)
            bases.append(shared[ranks[:, k].astype(int) - 1])
        else:
            bases.append(_sine_basis(ranks[:, k] / len(z), frequencies, settings))
    return stack_bases(bases)


def stack_bases(bases: list[Float[np.ndarray, "samples _"]]) -> Bases:
    """Returns bases of different ranks as one array, padded by zero columns (at least one)."""
    rank = max(1, *(basis.shape[1] for basis in bases))
    return np.stack([np.pad(basis, ((0, 0), (0, rank - basis.shape[1]))) for basis in bases])


def largest_canonical_correlations(
    left: Float[np.ndarray, "learned samples left_rank"],
    right: Float[np.ndarray, "true samples right_rank"],
) -> Float[np.ndarray, "learned true"]:
    """Returns the largest singular value of Q_iᵀ Q_j for all pairs of orthonormal bases."""
    n_left, n_samples, left_rank = left.shape
    n_right, _, right_rank = right.shape
    flat_left = left.transpose(1, 0, 2).reshape(n_samples, n_left * left_rank)
    flat_right = right.transpose(1, 0, 2).reshape(n_samples, n_right * right_rank)
    cross = (flat_left.T @ flat_right).reshape(n_left, left_rank, n_right, right_rank)
    singular = np.linalg.svd(cross.transpose(0, 2, 1, 3), compute_uv=False)
    return np.clip(singular[..., 0], 0.0, 1.0)


def _sine_basis(
    u: Float[np.ndarray, " samples"], frequencies: Float[np.ndarray, "2 k"], settings: RDCSettings
) -> Float[np.ndarray, "samples _"]:
    features = np.sin(settings.scale / 2 * (np.outer(u, frequencies[0]) + frequencies[1]))
    centred = features - features.mean(axis=0)
    basis, triangle, _ = scipy.linalg.qr(centred, mode="economic", pivoting=True)
    lengths = np.abs(np.diag(triangle))
    # Pivoting sorts them, so the count is the numerical rank, as in R's cancor. Without pivoting
    # the rank, and with it the coefficient, hangs on the order in which frequencies were drawn.
    return np.asarray(basis[:, : int(np.sum(lengths > settings.tolerance * lengths[0]))])


def _permuted_mean(
    left: Bases, right: Bases, settings: RDCSettings
) -> Float[np.ndarray, "learned true"]:
    rng = np.random.default_rng([settings.seed, 1])
    total = np.zeros((len(left), len(right)))
    for _ in range(settings.n_permutations):
        shuffled = right[:, rng.permutation(right.shape[1])]
        total += largest_canonical_correlations(left, shuffled)
    return total / settings.n_permutations
