"""Variables that are not what they seem: a few far values decide them, or they count the rows."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ucad.data.checks import some
from ucad.data.dataset import InterventionalData

__all__ = ["FarValues", "far_values", "row_counters", "say_far_values", "told", "told_counters"]

FAR = 100.0
"""Spreads from the median from which a value is far: Student's t with 2 degrees of freedom stays
below it in 10,000 samples, a decimal point in the wrong place does not."""

MOST = 0.5
"""The share of the variance from which far values decide more than all others together."""

FEW = 0.01
"""The share of the samples up to which far values are few: more are a kind of samples."""

MIN_COUNTED = 10
"""Samples in a row that a counter must have counted: of fewer it may be chance."""

SPREAD_OF_NORMAL = 1.349
"""The distance of the quartiles of N(0, 1)."""

_logger = logging.getLogger(__name__)


class FarValues(NamedTuple):
    """The far values of one variable."""

    variable: str
    n_values: int
    example: float


def far_values(data: InterventionalData) -> list[FarValues]:
    """The variables whose variance a few far values decide.

    A value is far if |x − median| > 100 spreads, by the quartiles. They decide if they are more
    than half of Σ (x − median)², and at most 1 % of the samples or all the same: such as −999,
    which stands for a missing value. Where a variable was clamped does not count.

    >>> x = np.random.default_rng(0).standard_normal((1000, 2)); x[7, 1] = 1e4
    >>> far_values(InterventionalData.from_targets(x, [""] * 1000))
    [FarValues(variable='X2', n_values=1, example=10000.0)]
    """
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers that no fit takes
        free = ~data.is_intervened
        columns = ((data.x[free[:, j], j], name) for j, name in enumerate(data.variable_names))
        found = (_far_values(x, name) for x, name in columns)
        return [one for one in found if one is not None]


def _far_values(x: Float[np.ndarray, " samples"], name: str) -> FarValues | None:
    low, middle, high = np.percentile(x, (25, 50, 75)) if len(x) else (0.0, 0.0, 0.0)
    away = np.abs(x.astype(np.float64) - middle)
    far = away > FAR * (high - low) / SPREAD_OF_NORMAL
    if not (low < high and far.any()):
        return None
    if far.sum() > FEW * len(x) and len(np.unique(x[far])) > 1:
        return None
    squares = (away / away.max()) ** 2
    if squares[far].sum() <= MOST * squares.sum():
        return None
    return FarValues(name, int(far.sum()), float(x[away.argmax()]))


def row_counters(data: InterventionalData) -> list[str]:
    """The variables that count the samples: whole numbers, each one more than the last.

    >>> x = np.random.default_rng(0).standard_normal((30, 2)); x[:, 1] = np.arange(30)
    >>> row_counters(InterventionalData.from_targets(x, [""] * 30))
    ['X2']
    """
    if data.n_samples < MIN_COUNTED or data.scaling is not None:
        return []
    steps = np.diff(data.x[:MIN_COUNTED], axis=0)
    likely = np.flatnonzero((steps == 1).all(axis=0)).tolist()
    return [data.variable_names[j] for j in likely if (np.diff(data.x[:, j]) == 1).all()]


def say_far_values(data: InterventionalData) -> None:
    """Warns of variables whose variance a few far values decide, and of those that count rows."""
    for text in (told(far_values(data)), told_counters(row_counters(data))):
        if text:
            _logger.warning(text)


def told_counters(names: Sequence[str]) -> str:
    """What to know of variables that count the samples; nothing if there are none."""
    if not names:
        return ""
    return (
        f"{len(names)} variable(s) count the samples: {some(names)}. If that is their number and "
        f"no measurement, leave it out (--ignore {names[0]}, or ignore=… of ucad.read)."
    )


def told(found: Sequence[FarValues]) -> str:
    """What to know of far values, and what to do about them; nothing if there are none."""
    if not found:
        return ""
    return (
        f"A few values lie more than {FAR:g} times the usual spread from the median and are most "
        f"of the variance of {len(found)} variable(s): {some([one.variable for one in found])}, "
        f"such as {found[0].example:.4g} in '{found[0].variable}'. A fit hears little else. If "
        "they are errors or stand for missing values, leave them out; if not, let factors read "
        "ranks (reads='rank', --transform rank)."
    )
