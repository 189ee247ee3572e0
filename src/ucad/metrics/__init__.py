"""How good are learned factors: functions of arrays that know nothing of models."""

from __future__ import annotations

from ucad.metrics.baseline_methods import Baseline, baselines
from ucad.metrics.chance import (
    Interval,
    Level,
    RotatedControls,
    RotationSettings,
    bootstrap_interval,
    permuted_level,
    random_graphs,
    rotated_controls,
)
from ucad.metrics.checks import ConstantFactorWarning
from ucad.metrics.correlation import MCC, Correlation, correlation_matrix, mean_correlation
from ucad.metrics.dci import DCI, Trees, dci_scores
from ucad.metrics.evaluation import ALL_METRICS, FAST_METRICS, Metric, evaluate
from ucad.metrics.explicitness import Decoder, Explicitness, explicitness
from ucad.metrics.likelihood import NLLByRegime, negative_log_likelihood, nll_by_regime
from ucad.metrics.rdc import Dependence, RDCSettings, randomised_dependence
from ucad.metrics.scoring import EvaluationSettings
from ucad.metrics.structure import EdgeCounts, StructureComparison, compare_structure
from ucad.metrics.table import EvaluationTable, Score

__all__ = [
    "ALL_METRICS",
    "DCI",
    "FAST_METRICS",
    "MCC",
    "Baseline",
    "ConstantFactorWarning",
    "Correlation",
    "Decoder",
    "Dependence",
    "EdgeCounts",
    "EvaluationSettings",
    "EvaluationTable",
    "Explicitness",
    "Interval",
    "Level",
    "Metric",
    "NLLByRegime",
    "RDCSettings",
    "RotatedControls",
    "RotationSettings",
    "Score",
    "StructureComparison",
    "Trees",
    "baselines",
    "bootstrap_interval",
    "compare_structure",
    "correlation_matrix",
    "dci_scores",
    "evaluate",
    "explicitness",
    "mean_correlation",
    "negative_log_likelihood",
    "nll_by_regime",
    "permuted_level",
    "random_graphs",
    "randomised_dependence",
    "rotated_controls",
]
