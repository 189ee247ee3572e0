"""Every metric of learned against true factors, in one table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict
from enum import StrEnum
from functools import partial

import numpy as np
import numpy.typing as npt

from ucad.errors import InvalidInputError, did_you_mean
from ucad.metrics.chance import random_graphs
from ucad.metrics.checks import (
    ConstantFactorWarning,
    FactorPair,
    check_factors,
    note_on_constant_factors,
    warn_of_constant_factors,
)
from ucad.metrics.correlation import Correlation
from ucad.metrics.explicitness import Decoder
from ucad.metrics.scoring import (
    EvaluationSettings,
    score_correlation,
    score_dci,
    score_explicitness,
)
from ucad.metrics.structure import StructureComparison, compare_structure
from ucad.metrics.table import EvaluationTable, Score

__all__ = ["ALL_METRICS", "FAST_METRICS", "Metric", "evaluate"]

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

MLP_SECONDS = 5e-5
"""Of R² by networks, chance level included, per sample and true factor: 10 s at 10,000 × 20."""

TREE_SECONDS = 2e-5
"""Of DCI by scikit-learn's trees, per sample, learned and true factor: 160 s at 10,000 × 20."""

MAX_SECONDS = 4.0
"""What a metric may take to be part of a table by default, so that 20 factors stay within 10 s."""


def evaluate(
    learned: npt.ArrayLike,
    true: npt.ArrayLike,
    *,
    metrics: Iterable[str] | None = None,
    learned_graph: Graph | None = None,
    true_graph: Graph | None = None,
    settings: EvaluationSettings | None = None,
) -> EvaluationTable:
    """Returns one table with every metric, its bootstrap interval and its chance level.

    MCC is resampled and matched anew; Pearson and Spearman exactly, RDC with the copula transform
    of all samples and before any bias is removed. The interval of R² is over the held-out samples,
    the fit staying as it is. DCI has no interval: that would take hundreds of refits. Chance
    levels are means over permuted samples, and for MCC also over random rotations. With both
    graphs, each a pair (Q, R), the structure is compared too, beside random graphs with as many
    edges as the learned one.

    Args:
        learned: (samples, learned factors).
        true: (samples, true factors), the same samples.
        metrics: which of `Metric` to compute. By default all but those that would take long here,
            which a note names; `FAST_METRICS` needs no trees and no network.
        learned_graph: Q and R, each (variables, learned factors).
        true_graph: Q and R, each (variables, true factors).
        settings: seeds and numbers of draws.

    >>> z = np.random.default_rng(0).standard_normal((100, 2))
    >>> table = evaluate(z[:, ::-1], z, metrics=["mcc_pearson"])
    >>> round(table["mcc_pearson"].value, 6)
    1.0
    """
    settings = EvaluationSettings() if settings is None else settings
    pair = check_factors(learned, true)
    chosen = _check_metrics(_quick_metrics(pair) if metrics is None else metrics)
    left_out = [m.value for m in ALL_METRICS if metrics is None and m not in chosen]
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
    slow = f"Left out, as it takes long at this size: {', '.join(left_out)}. Name it in 'metrics'."
    notes = [note_on_constant_factors(pair), slow if left_out else ""]
    return EvaluationTable(
        tuple(scores), {**sizes, **asdict(settings)}, notes=tuple(filter(None, notes))
    )


def _quick_metrics(pair: FactorPair) -> list[Metric]:
    """All metrics but those that need more than a few seconds for these factors."""
    (n_samples, n_learned), n_true = pair.learned.shape, pair.true.shape[1]
    seconds = {
        Metric.R2_MLP: MLP_SECONDS * n_samples * n_true,
        Metric.DCI: TREE_SECONDS * n_samples * n_true * n_learned,
    }
    return [metric for metric in ALL_METRICS if seconds.get(metric, 0.0) <= MAX_SECONDS]


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


_SCORERS: dict[Metric, Callable[[FactorPair, EvaluationSettings], list[Score]]] = {
    Metric.MCC_PEARSON: partial(score_correlation, coefficient=Correlation.PEARSON),
    Metric.MCC_SPEARMAN: partial(score_correlation, coefficient=Correlation.SPEARMAN),
    Metric.MCC_RDC: partial(score_correlation, coefficient=Correlation.RDC),
    Metric.R2_LINEAR: partial(score_explicitness, decoder=Decoder.LINEAR),
    Metric.R2_MLP: partial(score_explicitness, decoder=Decoder.MLP),
    Metric.DCI: score_dci,
}
