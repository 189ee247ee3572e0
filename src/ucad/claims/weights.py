"""How much each edge and each variable carries, as shares of variance, and what is discrete."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from ucad.claims.samples import TestSamples

__all__ = ["MIN_WEIGHT", "Weights"]

MIN_WEIGHT = 0.01
"""The smallest share of variance by which an anchor, a parent or a child carries weight."""

MAX_ROWS = 500
"""How many samples shares are measured on: their error is far below what is decided by them."""

MAX_DISTINCT = 10
MAX_DISTINCT_SHARE = 0.05
MAX_MODE_SHARE = 0.2
"""A variable is discrete if it has at most 10 values, or fewer values than 5 % of its samples, or
one value in more than 20 % of them: a count, a switch, a rectified or zero-inflated reading."""


@dataclass(frozen=True, eq=False)
class Weights:
    """Shares of variance, measured on some samples."""

    samples: TestSamples

    @cached_property
    def explained(self) -> Float[np.ndarray, " variables"]:
        """R² of every variable given its factors, where it is free; at least 0."""
        free = ~self.samples.is_intervened
        count = np.maximum(free.sum(axis=0), 1)
        left = (self.samples.residual**2 * free).sum(axis=0) / count
        total = (self.samples.x**2 * free).sum(axis=0) / count
        has_factors = self.samples.graph.R.any(axis=1)
        share = 1 - left / np.maximum(total, 1e-12)
        return np.where((total > 0) & has_factors, np.clip(share, 0.0, 1.0), 0.0)

    @cached_property
    def into(self) -> Float[np.ndarray, "variables factors"]:
        """E[(z_k − z_k without x_i)²] / Var z_k along Q, where "without" puts x_i at its mean.

        One evaluation of F_Z of one factor per edge.
        """
        samples, scm = self.samples, self.samples.scm
        step = max(1, len(samples.x) // MAX_ROWS)
        x = scm.tensor(samples.original(np.arange(0, len(samples.x), step)))
        z = scm.state_map(x)
        variance = z.var(dim=0, correction=0)
        share = np.zeros(samples.graph.Q.shape)
        for i, k in np.argwhere(samples.graph.Q & ~self.is_constant[None]):
            column = x[:, i].clone()
            x[:, i] = float(samples.mean[i])
            without = scm.factor_mechanism(x, scm.noise_scale.new_tensor([k]).long())[:, 0]
            x[:, i] = column
            share[i, k] = float(((z[:, k] - without) ** 2).mean() / variance[k].clamp_min(1e-300))
        return share

    @cached_property
    def out_of(self) -> Float[np.ndarray, "variables factors"]:
        """R² of the children of each factor, for out-anchors what the factor alone explains."""
        return self.samples.graph.R * self.explained[:, None]

    @cached_property
    def is_constant(self) -> Bool[np.ndarray, " factors"]:
        """Factors that never change in the data, among them those without parents."""
        return np.asarray(~self.samples.z.any(axis=0))

    @cached_property
    def is_discrete(self) -> Bool[np.ndarray, " variables"]:
        """Variables whose support is not the real line, judged where they are free."""
        return np.array([_is_discrete(self._free_values(j)) for j in range(self._n)], dtype=bool)

    @cached_property
    def zero_share(self) -> Float[np.ndarray, " variables"]:
        """The share of the most common value of each variable, where it is free."""
        return np.array([_mode_share(self._free_values(j)) for j in range(self._n)])

    @property
    def _n(self) -> int:
        return self.samples.n_variables

    def _free_values(self, j: int) -> Float[np.ndarray, " rows"]:
        return self.samples.x[~self.samples.is_intervened[:, j], j]


def _mode_share(values: Float[np.ndarray, " rows"]) -> float:
    if len(values) == 0:
        return 0.0
    return float(np.unique(values, return_counts=True)[1].max()) / len(values)


def _is_discrete(values: Float[np.ndarray, " rows"]) -> bool:
    if len(values) == 0:
        return False
    n_distinct = len(np.unique(values))
    few = n_distinct <= max(MAX_DISTINCT, MAX_DISTINCT_SHARE * len(values))
    return few or _mode_share(values) > MAX_MODE_SHARE
