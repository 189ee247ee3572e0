"""The lines of the table: each metric of factors with its interval and its chance level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from ucad.errors import InvalidInputError
from ucad.metrics.chance import (
    Interval,
    RotationSettings,
    bootstrap_interval,
    permuted_level,
    rotated_controls,
)
from ucad.metrics.checks import FactorPair
from ucad.metrics.correlation import (
    MCC,
    Correlation,
    best_matching,
    correlation_bases,
    mean_correlation,
)
from ucad.metrics.dci import Trees, dci_scores
from ucad.metrics.explicitness import Decoder, explicitness, r_squared
from ucad.metrics.rdc import RDCSettings, largest_canonical_correlations
from ucad.metrics.resampling import Ranks, Resampler
from ucad.metrics.table import Score

__all__ = ["EvaluationSettings", "score_correlation", "score_dci", "score_explicitness"]

RowScore = Callable[[Int[np.ndarray, " samples"]], float]
"""A score of chosen rows: resampled ones, or one side in another order."""


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """How much work goes into intervals and chance levels.

    Attributes:
        seed: of splits, resamples, permutations and rotations.
        test_fraction: share of the samples on which R² and DCI are scored.
        n_resamples: bootstrap resamples; 0 leaves the intervals out.
        confidence: of the intervals.
        n_permutations: permuted samples behind each chance level; 0 leaves them out.
        n_rotations: random rotations behind the rotated controls; 0 leaves them out.
        n_refits: permutations for the metrics that must be fitted anew each time, R² by MLP and
            DCI; 0 leaves their chance level out.
        n_graphs: random graphs behind the chance level of the structure.
        trees: which trees DCI takes its importances from.
        rdc: k, s, tolerance and seed of the dependence coefficient.
        over_pairs: take MCC over the matched pairs alone, for concepts that need not all be
            factors; else a true factor without a partner counts 0.
    """

    seed: int = 0
    test_fraction: float = 0.2
    n_resamples: int = 200
    confidence: float = 0.95
    n_permutations: int = 20
    n_rotations: int = 20
    n_refits: int = 1
    n_graphs: int = 100
    trees: Trees = Trees.GRADIENT_BOOSTING
    rdc: RDCSettings = field(default_factory=RDCSettings)
    over_pairs: bool = False

    def __post_init__(self) -> None:
        for name in ("n_resamples", "n_permutations", "n_rotations", "n_refits", "n_graphs"):
            if getattr(self, name) < 0:
                raise InvalidInputError(
                    f"The '{name}' setting of EvaluationSettings must be at least 0. "
                    f"Got {getattr(self, name)} instead."
                )


def score_correlation(
    pair: FactorPair, settings: EvaluationSettings, coefficient: Correlation
) -> list[Score]:
    """Returns the line of MCC with one coefficient; its interval and its three chance levels."""
    found = mean_correlation(pair.learned, pair.true, coefficient, settings.rdc)
    value, n_samples = _mean_of(found, settings), len(pair.true)
    resampled, shuffled = _reordered_mcc(pair, settings, coefficient)
    interval = _interval(resampled, value, n_samples, settings)
    rotations = RotationSettings(
        n_rotations=settings.n_rotations, seed=settings.seed, against_true=False
    )
    rotated = (
        rotated_controls(pair.learned, pair.true, coefficient, rotations, rdc=settings.rdc)
        if settings.n_rotations
        else None
    )
    return [
        Score(
            metric=f"mcc_{coefficient.value}",
            value=value,
            low=None if interval is None else max(0.0, interval.low),
            high=None if interval is None else min(1.0, interval.high),
            chance=_chance(shuffled, n_samples, settings.n_permutations, settings),
            true_rotated=None if rotated is None else rotated.true_rotated.mean,
            learned_rotated=None if rotated is None else rotated.learned_rotated.mean,
            detail=_detail(found, settings),
        )
    ]


def score_explicitness(
    pair: FactorPair, settings: EvaluationSettings, decoder: Decoder
) -> list[Score]:
    """Returns the line of R² with one decoder; the interval is over the held-out samples."""

    def fit(true: Float[np.ndarray, "samples true"]) -> float:
        return explicitness(
            pair.learned, true, decoder, test_fraction=settings.test_fraction, seed=settings.seed
        ).mean

    found = explicitness(
        pair.learned, pair.true, decoder, test_fraction=settings.test_fraction, seed=settings.seed
    )
    interval = _interval(
        lambda rows: float(r_squared(found.predicted[rows], found.target[rows]).mean()),
        found.mean,
        len(found.target),
        settings,
    )
    n_draws = settings.n_permutations if decoder is Decoder.LINEAR else settings.n_refits
    return [
        Score(
            metric=f"r2_{decoder.value}",
            value=found.mean,
            low=None if interval is None else interval.low,
            high=None if interval is None else min(1.0, interval.high),
            chance=_chance(lambda rows: fit(pair.true[rows]), len(pair.true), n_draws, settings),
            detail=f"{found.decoder}; {len(found.target)} held-out samples",
        )
    ]


def score_dci(pair: FactorPair, settings: EvaluationSettings) -> list[Score]:
    """Returns the three lines of DCI, without intervals: those would take hundreds of refits."""

    def fit(true: Float[np.ndarray, "samples true"]) -> tuple[tuple[float, ...], str]:
        found = dci_scores(
            pair.learned,
            true,
            settings.trees,
            test_fraction=settings.test_fraction,
            seed=settings.seed,
        )
        return (found.informativeness, found.disentanglement, found.completeness), found.estimator

    values, estimator = fit(pair.true)
    rng = np.random.default_rng(settings.seed)
    chance = [fit(rng.permutation(pair.true))[0] for _ in range(settings.n_refits)]
    names = ("informativeness", "disentanglement", "completeness")
    return [
        Score(
            metric=f"dci_{name}",
            value=values[k],
            chance=float(np.mean([draw[k] for draw in chance])) if chance else None,
            detail=estimator,
        )
        for k, name in enumerate(names)
    ]


def _reordered_mcc(
    pair: FactorPair, settings: EvaluationSettings, coefficient: Correlation
) -> tuple[RowScore, RowScore]:
    """Returns MCC as a function of resampled rows, and of rows in which the truth is shuffled."""
    left, right = correlation_bases(pair, coefficient, settings.rdc)
    is_ranked = coefficient is Correlation.SPEARMAN
    ranks = [Ranks(z) for z in pair] if is_ranked else []
    by_counts = Resampler(left, right)

    def resampled(rows: Int[np.ndarray, " samples"]) -> float:
        counts = np.bincount(rows, minlength=len(pair.true)).astype(np.float64)
        if not is_ranked:
            return _best_mean(by_counts(counts), settings)
        sides = [(of(counts) / len(counts)).T[:, :, None] for of in ranks]
        return _best_mean(Resampler(*sides)(counts), settings)

    def shuffled(rows: Int[np.ndarray, " samples"]) -> float:
        if coefficient is Correlation.RDC and settings.rdc.remove_bias:
            drawn = mean_correlation(pair.learned, pair.true[rows], coefficient, settings.rdc)
            return _mean_of(drawn, settings)
        return _best_mean(largest_canonical_correlations(left, right[:, rows]), settings)

    return resampled, shuffled


def _detail(found: MCC, settings: EvaluationSettings) -> str:
    counted = found.unmatched_true and not settings.over_pairs
    zero = "; a true factor without a partner counts 0" if counted else ""
    return f"{found.coefficient}; {found.averaged_over}{zero}"


def _mean_of(found: MCC, settings: EvaluationSettings) -> float:
    return found.over_pairs if settings.over_pairs else found.mean


def _best_mean(matrix: Float[np.ndarray, "learned true"], settings: EvaluationSettings) -> float:
    rows, columns = best_matching(matrix)
    values = matrix[list(rows), list(columns)]
    return float(values.sum()) / (len(values) if settings.over_pairs else matrix.shape[1])


def _interval(
    score: RowScore,
    value: float,
    n_samples: int,
    settings: EvaluationSettings,
) -> Interval | None:
    if not settings.n_resamples:
        return None
    return bootstrap_interval(
        score,
        value,
        n_samples,
        n_resamples=settings.n_resamples,
        confidence=settings.confidence,
        seed=settings.seed,
    )


def _chance(
    score: RowScore,
    n_samples: int,
    n_draws: int,
    settings: EvaluationSettings,
) -> float | None:
    if not n_draws:
        return None
    return permuted_level(score, n_samples, n_permutations=n_draws, seed=settings.seed).mean
