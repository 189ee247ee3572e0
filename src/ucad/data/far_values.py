"""Values so far from all others that they are nearly all of a variable's variance."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ucad.data.checks import some
from ucad.data.dataset import InterventionalData

__all__ = ["FarValues", "far_values", "say_far_values", "told"]

FAR = 100.0
"""Spreads from the median from which a value is far: Student's t with 2 degrees of freedom stays
below it in 10,000 samples, a decimal point in the wrong place does not."""

MOST = 0.5
"""The share of the variance from which far values decide more than all others together."""

FEW = 0.01
"""The share of the samples up to which far values are few: more are a kind of samples."""

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

    A value is far if |x − median| > 100 spreads, by the quartiles. They decide if they are at most
    1 % of the samples and more than half of Σ (x − median)².

    >>> x = np.random.default_rng(0).standard_normal((1000, 2)); x[7, 1] = 1e4
    >>> far_values(InterventionalData.from_targets(x, [""] * 1000))
    [FarValues(variable='X2', n_values=1, example=10000.0)]
    """
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers that no fit takes
        found = (_far_values(data.x[:, j], name) for j, name in enumerate(data.variable_names))
        return [one for one in found if one is not None]


def _far_values(x: Float[np.ndarray, " samples"], name: str) -> FarValues | None:
    low, middle, high = np.percentile(x, (25, 50, 75)) if len(x) else (0.0, 0.0, 0.0)
    away = np.abs(x.astype(np.float64) - middle)
    far = away > FAR * (high - low) / SPREAD_OF_NORMAL
    if not (low < high and 0 < far.sum() <= FEW * len(x)):
        return None
    squares = (away / away.max()) ** 2
    if squares[far].sum() <= MOST * squares.sum():
        return None
    return FarValues(name, int(far.sum()), float(x[away.argmax()]))


def say_far_values(data: InterventionalData) -> None:
    """Warns of variables whose variance a few far values decide."""
    text = told(far_values(data))
    if text:
        _logger.warning(text)


def told(found: Sequence[FarValues]) -> str:
    """What to know of far values, and what to do about them; nothing if there are none."""
    if not found:
        return ""
    return (
        f"A few values lie more than {FAR:g} times the usual spread from the median and are most "
        f"of the variance of {len(found)} variable(s): {some([one.variable for one in found])}, "
        f"such as {found[0].example:.4g} in '{found[0].variable}'. A fit hears little else. If "
        "they are errors, leave them out; if not, let factors read ranks (reads='rank', "
        "--transform rank)."
    )
