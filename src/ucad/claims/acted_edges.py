"""Does each edge into a factor show where its variable was acted on?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from ucad.claims.clamps import centred_within
from ucad.claims.effects import baseline, contribution
from ucad.claims.samples import Rows, TestSamples

__all__ = ["Shown", "shown", "shown_where_acted"]

MAX_P = 1e-3
"""The chance that any edge that does nothing is called shown."""

MIN_ACTED_ROWS = 40
"""Samples in which a variable must have been acted on: errors from fewer are too uncertain."""

MAX_ACTED_ROWS = 4000
"""Samples in which a variable was acted on that are looked at: they tell a slope to 2 %."""

MIN_NOISE = 1e-3
"""The standard deviation of residuals, in units of the variable, that counts at least: below it
rounding and how the functions were fitted decide."""


MAX_STEP_ERROR = 0.25
"""A step of the means that is known to worse than a quarter of itself shows nothing: the variable
was held near its mean."""


class Shown(NamedTuple):
    """What acting on a variable did to the children of one factor, beside what the model says.

    Attributes:
        slope: 1 as the model expects and 0 for no effect.
        error: its standard error.
        n_samples: in which the variable was acted on.
    """

    slope: float
    error: float
    n_samples: int


def shown(samples: TestSamples, edges: Sequence[tuple[int, int]]) -> dict[tuple[int, int], bool]:
    """Of those edges i → Z_k whose variable was acted on: whether the effect showed then.

    Shown: slope / error exceeds what chance does with .001 / number of edges. An edge that stands
    in for a curve, or for another variable, helps to predict where both are free, and does nothing
    where its variable is set from outside.
    """
    n_edges = int(samples.graph.Q.sum())
    found = {edge: shown_where_acted(samples, *edge) for edge in edges}
    return {
        edge: one.slope > _threshold(one, n_edges) * one.error
        for edge, one in found.items()
        if one is not None
    }


def _threshold(one: Shown, n_edges: int) -> float:
    return float(-stdtrit(max(one.n_samples - 2, 1), MAX_P / max(n_edges, 1)))


def shown_where_acted(samples: TestSamples, i: int, k: int) -> Shown | None:
    """The slope b of y = b · c over all children j of k at once, where i is acted on.

    y_j = e_j + c_ij, and c_ij is what x_i adds to x_j along Z_k in the model. b = Σ s / Σ q with
    s = Σ_j c y / σ² and q = Σ_j c² / σ² of every sample; its error is √Σ (s − b q)² / Σ q, so that
    what children have in common counts once. That is the slope within regimes; the means of every
    regime are compared with those where i is free, too, since a clamp that is noisy moves them more
    than it varies. None if i was not acted on in enough samples while a child was free, or was held
    at its mean. O(samples · children).
    """
    rows = np.flatnonzero(samples.is_intervened[:, i])[:MAX_ACTED_ROWS]
    children = np.flatnonzero(samples.graph.R[:, k])
    if len(rows) < MIN_ACTED_ROWS or len(children) == 0:
        return None
    edge = _Edge(samples, i, k, children, _spread(samples, children))
    parts = [_within(edge, rows)]
    for label in np.unique(samples.regime[rows]):
        here = rows[samples.regime[rows] == label]
        if len(here) >= MIN_ACTED_ROWS:
            parts.append(_contrast(edge, here, baseline(samples, i)))
    weight = np.array([1 / max(error, 1e-9) ** 2 for _, error in parts])
    if weight.sum() <= 0:
        return None
    slope = float(weight @ [value for value, _ in parts] / weight.sum())
    return Shown(slope, float(weight.sum() ** -0.5), len(rows))


def _spread(samples: TestSamples, children: Rows) -> Float[np.ndarray, " children"]:
    free = ~samples.is_intervened[:, children]
    square = (samples.residual[:, children] ** 2 * free).sum(axis=0)
    return np.maximum(np.sqrt(square / np.maximum(free.sum(axis=0), 1)), MIN_NOISE)


class _Edge(NamedTuple):
    """Variable i, factor k, its children, and the spread of their residuals."""

    samples: TestSamples
    i: int
    k: int
    children: Rows
    sigma: np.ndarray

    def measured(self, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """In units of σ: c and y, and where the children are free."""
        c, y = contribution(self.samples, self.i, self.children, rows, np.array([self.k]))
        free = ~self.samples.is_intervened[np.ix_(rows, self.children)]
        return c / self.sigma, y / self.sigma, free


def _within(edge: _Edge, rows: Rows) -> tuple[float, float]:
    """Slope and error within regimes; infinite if x_i was held there, or no child is free."""
    c, y, free = edge.measured(rows)
    regime = edge.samples.regime[rows]
    c, y = (
        np.stack([centred_within(column, regime) for column in v.T], axis=1) * free for v in (c, y)
    )
    s, q = (c * y).sum(axis=1), (c**2).sum(axis=1)
    if (q > MIN_NOISE**2).sum() < MIN_ACTED_ROWS:
        return 0.0, np.inf
    slope = float(s.sum() / q.sum())
    return slope, float(np.sqrt(((s - slope * q) ** 2).sum()) / q.sum())


def _contrast(edge: _Edge, here: Rows, free_rows: Rows) -> tuple[float, float]:
    """Slope and error of the step of the means, between a regime and where x_i is free.

    The error is infinite where the model expects no step that could be told from chance.
    """
    means, scores = [], []
    sides = [edge.measured(rows) for rows in (here, free_rows)]
    for c, _, free in sides:
        count = np.maximum(free.sum(axis=0), 1)
        means.append(((c * free).sum(axis=0) / count, count))
    step = means[0][0] - means[1][0]
    total = max(float(step @ step), 1e-300)
    for (_, y, free), (_, count) in zip(sides, means, strict=True):
        scores.append((y * free * (len(y) / count)) @ step / total)
    slope = float(scores[0].mean() - scores[1].mean())
    error = float(np.sqrt(sum(one.var() / max(len(one), 1) for one in scores)))
    return slope, error if error < MAX_STEP_ERROR else np.inf
