"""Every metric of learned against true factors, with its interval and its chance level."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import scipy.stats
from jaxtyping import Float, Int

from ucad.errors import InvalidInputError, did_you_mean
from ucad.metrics.chance import (
    Interval,
    bootstrap_interval,
    permuted_level,
    random_graphs,
    rotated_controls,
)
from ucad.metrics.checks import (
    ConstantFactorWarning,
    FactorPair,
    check_factors,
    note_on_constant_factors,
    warn_of_constant_factors,
)
from ucad.metrics.correlation import (
    Correlation,
    best_matching,
    correlation_bases,
    mean_correlation,
    resampled_correlations,
)
from ucad.metrics.dci import Trees, dci_scores
from ucad.metrics.explicitness import Decoder, explicitness, r_squared
from ucad.metrics.rdc import RDCSettings, largest_canonical_correlations
from ucad.metrics.structure import StructureComparison, compare_structure
from ucad.metrics.table import EvaluationTable, Score

__all__ = ["ALL_METRICS", "FAST_METRICS", "EvaluationSettings", "Metric", "evaluate"]

Graph = tuple[npt.ArrayLike, npt.ArrayLike]


class Metric(StrEnum):
    """What `evaluate` can compute from samples of factors."""

    MCC_PEARSON = "mcc_pearson"
    MCC_SPEARMAN = "mcc_spearman"
    MCC_RDC = "mcc_rdc"
    R2_LINEAR = "r2_linear"
    R2_MLP = "r2_mlp"
    DCI = "dci"


ALL_METRICS: tuple[Metric, ...] = tuple(Metric)
FAST_METRICS: tuple[Metric, ...] = tuple(m for m in Metric if m not in (Metric.R2_MLP, Metric.DCI))


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

    def __post_init__(self) -> None:
        for name in ("n_resamples", "n_permutations", "n_rotations", "n_refits", "n_graphs"):
            if getattr(self, name) < 0:
                raise InvalidInputError(
                    f"The '{name}' setting of EvaluationSettings must be at least 0. "
                    f"Got {getattr(self, name)} instead."
                )


def evaluate(
    learned: npt.ArrayLike,
    true: npt.ArrayLike,
    *,
    metrics: Iterable[str] = ALL_METRICS,
    learned_graph: Graph | None = None,
    true_graph: Graph | None = None,
    settings: EvaluationSettings | None = None,
) -> EvaluationTable:
    """Returns one table with every metric, its bootstrap interval and its chance level.

    MCC is resampled and matched anew; Pearson and Spearman exactly, RDC with the copula transform
    of all samples and before any bias is removed. The interval of R² is over the held-out samples, the fit staying as it is. DCI
    has no interval: that would take hundreds of refits. Chance levels are means over permuted
    samples, and for MCC also over random rotations. With both graphs, each a pair (Q, R), the
    structure is compared too, beside random graphs with as many edges as the learned one.

    Args:
        learned: (samples, learned factors).
        true: (samples, true factors), the same samples.
        metrics: which of `Metric` to compute; `FAST_METRICS` needs no trees and no network.
        learned_graph: Q and R, each (variables, learned factors).
        true_graph: Q and R, each (variables, true factors).
        settings: seeds and numbers of draws.

    >>> z = np.random.default_rng(0).standard_normal((100, 2))
    >>> table = evaluate(z[:, ::-1], z, metrics=["mcc_pearson"])
    >>> round(table["mcc_pearson"].value, 6)
    1.0
    """
    settings = EvaluationSettings() if settings is None else settings
    chosen = _check_metrics(metrics)
    pair = check_factors(learned, true)
    if (learned_graph is None) != (true_graph is None):
        raise InvalidInputError("Both graphs must be given to compare them. Got one instead.")
    warn_of_constant_factors(pair)
    scores: list[Score] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantFactorWarning)
        for metric in chosen:
            scores += _SCORERS[metric](pair, settings)
        if learned_graph is not None and true_graph is not None:
            scores += _structure_scores(learned_graph, true_graph, settings)
    n_samples, n_learned = pair.learned.shape
    sizes = {"n_samples": n_samples, "n_learned": n_learned, "n_true": pair.true.shape[1]}
    note = note_on_constant_factors(pair)
    return EvaluationTable(
        tuple(scores), {**sizes, **asdict(settings)}, notes=(note,) if note else ()
    )


def _check_metrics(metrics: Iterable[str]) -> list[Metric]:
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    for name in names:
        if name not in tuple(Metric):
            raise InvalidInputError(
                f"The 'metrics' must be among {', '.join(Metric)}. "
                f"Got {name!r} instead.{did_you_mean(name, list(Metric))}"
            )
    if not names:
        raise InvalidInputError("The 'metrics' must name at least one metric. Got none instead.")
    return [Metric(name) for name in names]


def _mcc_scores(
    pair: FactorPair, coefficient: Correlation, settings: EvaluationSettings
) -> list[Score]:
    found = mean_correlation(pair.learned, pair.true, coefficient, settings.rdc)
    left, right = correlation_bases(pair, coefficient, settings.rdc)

    def shuffled(rows: Int[np.ndarray, " samples"]) -> float:
        if coefficient is Correlation.RDC and settings.rdc.remove_bias:
            return mean_correlation(pair.learned, pair.true[rows], coefficient, settings.rdc).mean
        return _best_mean(largest_canonical_correlations(left, right[:, rows]))

    def resampled(rows: Int[np.ndarray, " samples"]) -> float:
        counts = np.bincount(rows, minlength=len(pair.true)).astype(np.float64)
        if coefficient is not Correlation.SPEARMAN:
            return _best_mean(resampled_correlations(left, right, counts))
        ranked = FactorPair(*(scipy.stats.rankdata(z[rows], axis=0) for z in pair))
        return mean_correlation(ranked.learned, ranked.true).mean

    rotated = (
        rotated_controls(
            pair.learned,
            pair.true,
            coefficient,
            n_rotations=settings.n_rotations,
            seed=settings.seed,
            rdc=settings.rdc,
        )
        if settings.n_rotations
        else None
    )
    interval = _interval(resampled, found.mean, len(pair.true), settings)
    return [
        Score(
            metric=f"mcc_{coefficient.value}",
            value=found.mean,
            low=None if interval is None else max(0.0, interval.low),
            high=None if interval is None else min(1.0, interval.high),
            chance=_chance(shuffled, len(pair.true), settings.n_permutations, settings),
            true_rotated=None if rotated is None else rotated.true_rotated.mean,
            learned_rotated=None if rotated is None else rotated.learned_rotated.mean,
            detail=f"{found.coefficient}; {found.averaged_over}",
        )
    ]


def _r2_scores(pair: FactorPair, decoder: Decoder, settings: EvaluationSettings) -> list[Score]:
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


def _dci_scores(pair: FactorPair, settings: EvaluationSettings) -> list[Score]:
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


def _structure_scores(learned: Graph, true: Graph, settings: EvaluationSettings) -> list[Score]:
    found = compare_structure(learned, true)
    draws = [
        _structure_values(compare_structure(graph, true))
        for graph in random_graphs(*learned, n_graphs=settings.n_graphs, seed=settings.seed)
    ]
    return [
        Score(
            metric=f"structure_{name}",
            value=value,
            chance=float(np.mean([draw[name] for draw in draws])) if draws else None,
            detail=_structure_detail(name, found),
        )
        for name, value in _structure_values(found).items()
    ]


def _structure_values(found: StructureComparison) -> dict[str, int | float]:
    values: dict[str, int | float] = {"shd": found.shd, "shd_A": found.A.shd}
    for name in ("Q", "R", "A"):
        values[f"precision_{name}"] = getattr(found, name).precision
        values[f"recall_{name}"] = getattr(found, name).recall
    return {**values, "exact": int(found.is_exact), "anchors_right": int(found.anchors_right)}


def _structure_detail(name: str, found: StructureComparison) -> str:
    if name.startswith("precision"):
        return str(getattr(found, name[-1]))
    if name == "shd":
        return "best relabelling of factors; chance: random graphs with as many edges"
    return ""


def _best_mean(matrix: Float[np.ndarray, "learned true"]) -> float:
    rows, columns = best_matching(matrix)
    return float(matrix[list(rows), list(columns)].mean())


def _interval(
    score: Callable[[Int[np.ndarray, " samples"]], float],
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
    score: Callable[[Int[np.ndarray, " samples"]], float],
    n_samples: int,
    n_draws: int,
    settings: EvaluationSettings,
) -> float | None:
    if not n_draws:
        return None
    return permuted_level(score, n_samples, n_permutations=n_draws, seed=settings.seed).mean


_SCORERS: dict[Metric, Callable[[FactorPair, EvaluationSettings], list[Score]]] = {
    Metric.MCC_PEARSON: lambda pair, settings: _mcc_scores(pair, Correlation.PEARSON, settings),
    Metric.MCC_SPEARMAN: lambda pair, settings: _mcc_scores(pair, Correlation.SPEARMAN, settings),
    Metric.MCC_RDC: lambda pair, settings: _mcc_scores(pair, Correlation.RDC, settings),
    Metric.R2_LINEAR: lambda pair, settings: _r2_scores(pair, Decoder.LINEAR, settings),
    Metric.R2_MLP: lambda pair, settings: _r2_scores(pair, Decoder.MLP, settings),
    Metric.DCI: _dci_scores,
}
