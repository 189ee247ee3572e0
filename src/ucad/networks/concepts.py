"""Factor–concept tables: how much factors know of concepts, beside what placebos know of them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Int

from ucad._types import FactorSamples
from ucad.errors import InvalidInputError
from ucad.metrics import (
    ConstantFactorWarning,
    Correlation,
    EvaluationSettings,
    Metric,
    bootstrap_interval,
    correlation_matrix,
    evaluate,
    permuted_level,
)
from ucad.metrics.checks import FactorPair, check_factors
from ucad.metrics.correlation import correlation_bases, resampled_correlations
from ucad.metrics.rdc import largest_canonical_correlations

__all__ = ["CONCEPT_METRICS", "ConceptScore", "ConceptTable", "PlaceboLevel", "concept_table"]

CONCEPT_METRICS = tuple(metric for metric in Metric if metric is not Metric.DCI)
_BEST = (Correlation.PEARSON, Correlation.RDC)
POSITIVE, NEGATIVE = "positive", "negative"


@dataclass(frozen=True)
class PlaceboLevel:
    """What sets of placebo factors reach: the mean and the largest, and of how many."""

    mean: float
    largest: float
    n_draws: int


@dataclass(frozen=True, kw_only=True)
class ConceptScore:
    """One line of the table.

    Attributes:
        kind: `positive` concepts or `negative` controls.
        metric: `mcc_pearson` … `r2_mlp` over all concepts of the kind, or `best_pearson` and
            `best_rdc` of one concept.
        concept: which; empty for a line over all of them.
        value: the score.
        low: lower end of its bootstrap interval, if there is one.
        high: upper end.
        chance: its mean over permuted labels.
        placebos: what placebo factors reach, by their name.
        detail: the matched pairs, the decoder, or the best factor.
    """

    kind: str
    metric: str
    concept: str = ""
    value: float
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    placebos: Mapping[str, PlaceboLevel] = field(default_factory=dict)
    detail: str = ""


@dataclass(frozen=True)
class ConceptTable:
    """Scores of factors against concepts and controls, each beside its placebos."""

    scores: tuple[ConceptScore, ...]
    notes: tuple[str, ...] = ()

    def find(self, metric: str, concept: str = "", kind: str = POSITIVE) -> ConceptScore:
        """The line of a metric, over all concepts of a kind or of one concept."""
        for score in self.scores:
            is_kind = bool(concept) or score.kind == kind
            if score.metric == metric and score.concept == concept and is_kind:
                return score
        raise InvalidInputError(
            f"The table has no line '{metric}' of '{concept or kind}'. It has "
            f"{', '.join(sorted({score.metric for score in self.scores}))}."
        )

    def to_json(self) -> str:
        """The lines and notes as JSON; what does not apply is null."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        names = list(dict.fromkeys(name for score in self.scores for name in score.placebos))
        heading = ["", "metric", "value", "interval", "permuted", *names]
        lines = [heading, *(_cells(score, names) for score in self.scores)]
        widths = [max(len(line[k]) for line in lines) for k in range(len(heading))]
        text = [
            "  ".join(
                cell.ljust(width) if k < 2 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        text[1:] = [
            f"{line}  {score.detail}" if score.concept else line
            for line, score in zip(text[1:], self.scores, strict=True)
        ]
        text += [f"{s.kind} {s.metric}: {s.detail}" for s in self.scores if not s.concept]
        return "\n".join([*text, *(f"Note: {note}" for note in self.notes)])


def concept_table(
    factors: npt.ArrayLike,
    positive: Mapping[str, npt.ArrayLike],
    negative: Mapping[str, npt.ArrayLike] | None = None,
    *,
    placebos: Mapping[str, Sequence[FactorSamples]] | None = None,
    metrics: Sequence[Metric] = CONCEPT_METRICS,
    settings: EvaluationSettings | None = None,
) -> ConceptTable:
    """Scores factors against labelled concepts, as the paper's table, with what it leaves out.

    Per kind: MCC by three coefficients (the detail says over which matched pairs), R² by two
    decoders; per concept the largest |Pearson| and the largest RDC of any factor. Each line has a
    bootstrap interval, what permuted labels reach and what every placebo set reaches. A table
    without placebos says little: three random live units of a network reach the paper's figures.

    Source: the paper's table of the divisibility-by-6 task.

    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((200, 2))
    >>> table = concept_table(z, {"first": z[:, 0] > 0}, {"coin": rng.integers(2, size=200)},
    ...                       metrics=[], placebos={"noise": [rng.standard_normal((200, 2))]})
    >>> table.find("best_pearson", "first").detail
    'factor 0'

    Args:
        factors: samples × factors.
        positive: concepts by name, one value a sample.
        negative: controls that have nothing to do with the task.
        placebos: sets of placebo factors by the name of their kind, each on the same samples; see
            `random_live_units`, `random_linear_factors`, `random_rotations`, `untrained_like`.
        metrics: those over all concepts of a kind.
        settings: seeds and numbers of draws. R² by MLP is refitted `n_refits` times at most.
    """
    settings = EvaluationSettings() if settings is None else settings
    settings = replace(settings, over_pairs=True)  # not every concept need be a factor
    kinds = {POSITIVE: dict(positive), NEGATIVE: dict(negative or {})}
    sets = {name: list(drawn) for name, drawn in (placebos or {}).items()}
    scores: list[ConceptScore] = []
    with warnings.catch_warnings():
        # A dead unit among the placebos counts 0, as it should.
        warnings.simplefilter("ignore", ConstantFactorWarning)
        for kind, concepts in kinds.items():
            if concepts:
                pair = check_factors(factors, _matrix(concepts))
                scores += _over_all(kind, pair, sets, metrics, settings)
                scores += _per_concept(kind, pair, list(concepts), sets, settings)
    if not scores:
        raise InvalidInputError("At least one concept must be given. Got none.")
    note = "no placebo factors were given, so nothing says what these values are worth"
    return ConceptTable(tuple(scores), () if sets else (note,))


def _matrix(concepts: Mapping[str, npt.ArrayLike]) -> Float[np.ndarray, "samples concepts"]:
    return np.stack([np.asarray(v, dtype=np.float64).reshape(-1) for v in concepts.values()], 1)


def _over_all(
    kind: str,
    pair: FactorPair,
    placebos: Mapping[str, list[FactorSamples]],
    metrics: Sequence[Metric],
    settings: EvaluationSettings,
) -> list[ConceptScore]:
    if not metrics:
        return []
    table = evaluate(*pair, metrics=metrics, settings=replace(settings, n_rotations=0))
    bare = replace(settings, n_rotations=0, n_resamples=0, n_permutations=0, n_refits=0)

    def level(metric: str, drawn: list[FactorSamples]) -> PlaceboLevel:
        used = drawn[: max(1, settings.n_refits)] if metric == Metric.R2_MLP else drawn
        return _level(
            [evaluate(z, pair.true, metrics=[metric], settings=bare)[metric].value for z in used]
        )

    return [
        ConceptScore(
            kind=kind,
            metric=score.metric,
            value=float(score.value),
            low=score.low,
            high=score.high,
            chance=score.chance,
            placebos={name: level(score.metric, drawn) for name, drawn in placebos.items()},
            detail=score.detail,
        )
        for score in table.scores
    ]


def _per_concept(
    kind: str,
    pair: FactorPair,
    names: list[str],
    placebos: Mapping[str, list[FactorSamples]],
    settings: EvaluationSettings,
) -> list[ConceptScore]:
    scores = []
    for coefficient in _BEST:
        matrix = correlation_matrix(*pair, coefficient, settings.rdc)
        levels = {
            name: [
                correlation_matrix(
                    np.asarray(z, dtype=np.float64), pair.true, coefficient, settings.rdc
                ).max(axis=0)
                for z in drawn
            ]
            for name, drawn in placebos.items()
        }
        for c, concept in enumerate(names):
            one = FactorPair(pair.learned, pair.true[:, [c]])
            value = float(matrix[:, c].max())
            low, high, chance = _interval_and_chance(one, value, coefficient, settings)
            scores.append(
                ConceptScore(
                    kind=kind,
                    metric=f"best_{coefficient.value}",
                    concept=concept,
                    value=value,
                    low=low,
                    high=high,
                    chance=chance,
                    placebos={
                        name: _level([float(best[c]) for best in drawn])
                        for name, drawn in levels.items()
                    },
                    detail=f"factor {int(matrix[:, c].argmax())}",
                )
            )
    return scores


def _interval_and_chance(
    pair: FactorPair, value: float, coefficient: Correlation, settings: EvaluationSettings
) -> tuple[float | None, float | None, float | None]:
    left, right = correlation_bases(pair, coefficient, settings.rdc)
    n_samples = len(pair.true)

    def resampled(rows: Int[np.ndarray, " samples"]) -> float:
        counts = np.bincount(rows, minlength=n_samples).astype(np.float64)
        return float(resampled_correlations(left, right, counts).max())

    def shuffled(rows: Int[np.ndarray, " samples"]) -> float:
        return float(largest_canonical_correlations(left, right[:, rows]).max())

    low = high = chance = None
    if settings.n_resamples:
        found = bootstrap_interval(
            resampled,
            value,
            n_samples,
            n_resamples=settings.n_resamples,
            confidence=settings.confidence,
            seed=settings.seed,
        )
        low, high = max(0.0, found.low), min(1.0, found.high)
    if settings.n_permutations:
        n_permutations, seed = settings.n_permutations, settings.seed
        chance = permuted_level(shuffled, n_samples, n_permutations=n_permutations, seed=seed).mean
    return low, high, chance


def _level(values: Sequence[float]) -> PlaceboLevel:
    if not values:
        raise InvalidInputError("A placebo must have at least one set of factors. Got none.")
    return PlaceboLevel(float(np.mean(values)), float(max(values)), len(values))


def _cells(score: ConceptScore, names: Sequence[str]) -> list[str]:
    interval = "" if score.low is None else f"[{score.low:.3f}, {score.high:.3f}]"
    chance = "" if score.chance is None else f"{score.chance:.3f}"
    levels = (score.placebos.get(name) for name in names)
    return [
        score.concept or score.kind,
        score.metric,
        f"{score.value:.3f}",
        interval,
        chance,
        *("" if level is None else f"{level.mean:.3f} ≤ {level.largest:.3f}" for level in levels),
    ]
