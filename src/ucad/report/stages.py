"""The history of a search as its stages: what each gained, and how long it took."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ucad.report.charts import X_KEYS

__all__ = ["stages_of", "training_of"]


def training_of(history: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows with an epoch or step: those that curves are drawn of."""
    return [row for row in history if any(key in row for key in X_KEYS)]


def stages_of(history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with a stage and no epoch, each with its gain in score and its share of the time.

    Seconds in the history count from the start; here they are those of the stage itself.

    >>> rows = [{"stage": "a", "score": 1.0, "seconds": 1.0}, {"stage": "b", "score": 3.0,
    ...          "seconds": 4.0}]
    >>> [(row["stage"], row["gained"], row["share"]) for row in stages_of(rows)]
    [('a', None, 0.25), ('b', 2.0, 0.75)]
    """
    rows = [row for row in history if "stage" in row and not any(key in row for key in X_KEYS)]
    found: list[dict[str, Any]] = []
    score_before, ended = None, 0.0
    for row in rows:
        score, at = _number(row.get("score")), _number(row.get("seconds"))
        gained = None if score is None or score_before is None else score - score_before
        took = None if at is None else max(0.0, at - ended if at >= ended else at)
        score_before, ended = score, at if at is not None else ended
        edges = row.get("n_edges")
        found.append(
            {"stage": row["stage"], "score": score, "gained": gained, "n_edges": edges}
            | {"seconds": took}
        )
    total = sum(row["seconds"] or 0.0 for row in found)
    for row in found:
        row["share"] = None if not total or row["seconds"] is None else row["seconds"] / total
    return found


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None  # type: ignore[arg-type]
