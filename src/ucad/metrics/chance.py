"""What chance would give: rotated factors, permuted samples, random graphs; and intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Int

from ucad._types import BooleanMatrix, FactorSamples
from ucad.errors import InvalidInputError
from ucad.metrics.checks import check_factors, check_structure
from ucad.metrics.correlation import Correlation, FixedSide
from ucad.metrics.rdc import RDCSettings

__all__ = [
    "Interval",
    "Level",
    "RotatedControls",
    "RotationSettings",
    "bootstrap_interval",
    "permuted_level",
    "random_graphs",
    "random_orthogonal",
    "rotate",
    "rotated_controls",
]


class Level(NamedTuple):
    """Mean and standard deviation of a score over random draws, and how many there were."""

    mean: float
    std: float
    n_draws: int


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


class RotatedControls(NamedTuple):
    """MCC if the factors were right but their coordinates arbitrary.

    Attributes:
        true_rotated: MCC(z U, z), the true factors rotated in place of the learned ones.
        learned_rotated: MCC(ẑ U, z).
        against_rotated_true: MCC(ẑ, z U); None if it was not asked for.
    """

    true_rotated: Level
    learned_rotated: Level
    against_rotated_true: Level | None


@dataclass(frozen=True, kw_only=True)
class RotationSettings:
    """How factors are rotated.

    Attributes:
        n_rotations: random orthogonal matrices.
        seed: of those.
        standardised: whether each factor is scaled to a standard deviation of 1 first. If not, as
            a literal reading of the paper has it, the widest factor dominates all rotated ones and
            the level is lower: an easier control, that changes if a factor is rescaled.
        against_true: whether MCC(ẑ, z U) is made, too.
    """

    n_rotations: int = 20
    seed: int = 0
    standardised: bool = True
    against_true: bool = True


def rotated_controls(
    learned: npt.ArrayLike,
    true: npt.ArrayLike,
    coefficient: Correlation = Correlation.PEARSON,
    settings: RotationSettings | None = None,
    *,
    rdc: RDCSettings | None = None,
) -> RotatedControls:
    """Returns the MCC after random orthogonal transformations U, as the paper's mini table.

    A method that finds the right space but not the coordinates lands at MCC(z U, z), so a score
    has to exceed that to say anything about coordinates. The paper's "learned rotated" is
    MCC(ẑ U, z); its "ground-truth rotated" can be read as MCC(z U, z) or as MCC(ẑ, z U), so both
    are here.

    Source: the paper's table with the columns "Ground-truth rotated" and "Learned rotated".

    >>> z = np.random.default_rng(0).standard_normal((500, 3))
    >>> controls = rotated_controls(z, z)
    >>> bool(0.75 < controls.true_rotated.mean < 0.9)
    True
    """
    settings = RotationSettings() if settings is None else settings
    pair = check_factors(learned, true)
    rng = np.random.default_rng(settings.seed)

    learned_ready, true_ready = (
        _standardise(z) if settings.standardised else z for z in (pair.learned, pair.true)
    )

    fixed = FixedSide(pair.true, 1, coefficient, rdc)

    def level(score: Callable[[FactorSamples], float], z: FactorSamples) -> Level:
        return _level([score(rotate(z, rng)) for _ in range(settings.n_rotations)])

    return RotatedControls(
        true_rotated=level(fixed.mcc, true_ready),
        learned_rotated=level(fixed.mcc, learned_ready),
        against_rotated_true=level(FixedSide(pair.learned, 0, coefficient, rdc).mcc, true_ready)
        if settings.against_true
        else None,
    )


def rotate(z: FactorSamples, rng: np.random.Generator) -> FactorSamples:
    """Returns the factors times a random orthogonal matrix."""
    return np.asarray(z @ random_orthogonal(z.shape[1], rng))


def random_orthogonal(size: int, rng: np.random.Generator) -> Float[np.ndarray, "size size"]:
    """Returns a uniformly distributed (Haar) orthogonal matrix.

    >>> U = random_orthogonal(3, np.random.default_rng(0))
    >>> bool(np.allclose(U @ U.T, np.eye(3)))
    True
    """
    basis, triangle = np.linalg.qr(rng.standard_normal((size, size)))
    # Without the signs, the QR's own convention would make some rotations more likely.
    return np.asarray(basis * np.sign(np.diag(triangle)))


def permuted_level(
    score: Callable[[Int[np.ndarray, " samples"]], float],
    n_samples: int,
    *,
    n_permutations: int = 20,
    seed: int = 0,
) -> Level:
    """Returns the level of `score(rows)` over random orders of the rows of one of the two arrays.

    >>> x = np.arange(50.0)
    >>> level = permuted_level(lambda rows: np.corrcoef(x[rows], x)[0, 1], 50, n_permutations=200)
    >>> bool(abs(level.mean) < 0.05)
    True
    """
    rng = np.random.default_rng(seed)
    return _level([score(rng.permutation(n_samples)) for _ in range(n_permutations)])


def bootstrap_interval(
    score: Callable[[Int[np.ndarray, " samples"]], float],
    value: float,
    n_samples: int,
    *,
    n_resamples: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Returns the percentile interval of `score(rows)` over resampled rows, centred on `value`.

        [value - mean + q(α/2),  value - mean + q(1 - α/2)],   α = 1 - confidence

    Scores that are a maximum (MCC, RDC) grow when samples repeat, so plain percentiles would lie
    above the value itself; subtracting the mean of the resampled scores takes that away.

    >>> x = np.random.default_rng(0).standard_normal(400)
    >>> low, high = bootstrap_interval(lambda rows: x[rows].mean(), x.mean(), 400)
    >>> bool(low < x.mean() < high) and round(high - low, 1)
    0.2
    """
    if not 0 < confidence < 1:
        raise InvalidInputError(
            f"The 'confidence' must be between 0 and 1. Got {confidence} instead."
        )
    rng = np.random.default_rng(seed)
    scores = np.array([score(rng.integers(n_samples, size=n_samples)) for _ in range(n_resamples)])
    tail = (1 - confidence) / 2
    low, high = np.quantile(scores, [tail, 1 - tail]) - scores.mean() + value
    return Interval(float(low), float(high))


def random_graphs(
    Q: npt.ArrayLike, R: npt.ArrayLike, *, n_graphs: int = 100, seed: int = 0
) -> Iterator[tuple[BooleanMatrix, BooleanMatrix]]:
    """Yields random (Q, R) with as many edges of each kind, anywhere between variables and factors.

    No variable is parent and child of one factor; beyond that the graphs need not be acyclic.

    >>> Q, R = np.eye(4, 2, dtype=bool), np.eye(4, 2, k=-1, dtype=bool)
    >>> [(int(q.sum()), int(r.sum())) for q, r in random_graphs(Q, R, n_graphs=2)]
    [(2, 2), (2, 2)]
    """
    Q, R = check_structure(Q, R, "given")
    rng = np.random.default_rng(seed)
    n_parents, n_children = int(Q.sum()), int(R.sum())
    for _ in range(n_graphs):
        cells = rng.permutation(Q.size)
        parents, children = np.zeros(Q.size, dtype=bool), np.zeros(Q.size, dtype=bool)
        parents[cells[:n_parents]] = True
        children[cells[n_parents : n_parents + n_children]] = True
        yield parents.reshape(Q.shape), children.reshape(R.shape)


def _standardise(z: FactorSamples) -> FactorSamples:
    centred = z - z.mean(axis=0)
    scale = centred.std(axis=0)
    return np.asarray(centred / np.where(scale > 0, scale, 1.0))


def _level(scores: list[float]) -> Level:
    if not scores:
        raise InvalidInputError("A chance level must have at least one draw. Got 0 instead.")
    return Level(float(np.mean(scores)), float(np.std(scores)), len(scores))
