"""The table of an evaluation: every score with its interval and what chance would give."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from ucad.errors import InvalidInputError, MissingDependencyError, did_you_mean

__all__ = ["EvaluationTable", "Score"]


@dataclass(frozen=True, kw_only=True)
class Score:
    """One line of the table; None where a column does not apply or was not asked for.

    Attributes:
        metric: its name, as in the paper's tables.
        value: the score itself; a count or a yes (1) or no (0) is an integer.
        low: lower end of its bootstrap interval.
        high: upper end.
        chance: its mean over permuted samples, or over random graphs.
        true_rotated: its mean if the true factors, rotated at random, had been learned.
        learned_rotated: its mean if the learned factors are rotated at random.
        detail: what the number depends on: estimator, settings, matched pairs.
    """

    metric: str
    value: int | float
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    true_rotated: float | None = None
    learned_rotated: float | None = None
    detail: str = ""


@dataclass(frozen=True)
class EvaluationTable:
    """Scores in the order they were asked for, and how they were made.

    Attributes:
        scores: the lines.
        settings: seeds, numbers of draws, and other settings by name.
        notes: what a reader must know, such as constant factors.
    """

    scores: tuple[Score, ...]
    settings: dict[str, Any]
    notes: tuple[str, ...] = ()

    def __getitem__(self, metric: str) -> Score:
        """Returns the line of a metric."""
        names = [score.metric for score in self.scores]
        if metric not in names:
            raise InvalidInputError(
                f"The table must hold the metric asked for; it has {', '.join(names)}. "
                f"Got {metric!r} instead.{did_you_mean(metric, names)}"
            )
        return self.scores[names.index(metric)]

    def to_json(self) -> str:
        """Returns scores, settings and notes as JSON; what does not apply is null."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False, allow_nan=False)

    def to_frame(self) -> Any:
        """Returns the scores as a pandas.DataFrame, one metric a row."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingDependencyError("pandas", "parquet", "A table as a data frame") from error
        lines = [asdict(score) for score in self.scores]
        frame = pd.DataFrame(lines, columns=[field.name for field in fields(Score)])
        numbers = [name for name in frame.columns if name not in ("metric", "detail")]
        return frame.astype(dict.fromkeys(numbers, float)).set_index("metric")

    def __str__(self) -> str:
        notes = (f"Note: {note}" for note in self.notes)
        return "\n".join([*_text_lines(self.scores), *_LEGEND, *notes])


_HEADINGS = ("metric", "value", "interval", "chance", "rot. true", "rot. own")
_LEGEND = (
    "chance: of permuted samples, or of random graphs. rot. true, rot. own: what the",
    "true, or the learned, factors would get if they were rotated at random.",
)


def _text_lines(scores: tuple[Score, ...]) -> list[str]:
    """The columns; how each score is made is in the JSON and in the report alone."""
    cells: list[tuple[str, ...]] = [_HEADINGS]
    for score in scores:
        interval = (
            ""
            if score.low is None or score.high is None
            else f"[{_number(score.low)}, {_number(score.high)}]"
        )
        columns = (score.chance, score.true_rotated, score.learned_rotated)
        cells.append(
            (score.metric, _number(score.value), interval, *(_number(value) for value in columns))
        )
    widths = [max(len(line[k]) for line in cells) for k in range(len(_HEADINGS))]
    lines = []
    for name, *rest in cells:
        padded = [name.ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  ".join(padded).rstrip())
    return lines


def _number(value: int | float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.4f}"
