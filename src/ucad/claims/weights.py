"""How much each edge and each variable carries, as shares of variance, and what is discrete."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float

from ucad.claims.reliability import FactorNoise, factor_noise
from ucad.claims.samples import TestSamples

__all__ = ["MIN_WEIGHT", "Weights"]

MIN_WEIGHT = 0.01
"""The smallest share of variance by which an anchor, a parent or a child carries weight."""

MAX_ROWS = 400
"""How many samples shares are measured on: their error is far below what is decided by them."""

MAX_ROWS_FOR_VALUES = 2000
"""How many samples are looked at for repeated values."""

MAX_DISTINCT = 10
"""Values up to which a variable is discrete."""

MAX_DISTINCT_SHARE = 0.05
"""Distinct values per sample below which a variable is discrete."""

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
            without = scm.factor_mechanism(x, torch.tensor([k], device=x.device))[:, 0]
            x[:, i] = column
            share[i, k] = float(((z[:, k] - without) ** 2).mean() / variance[k].clamp_min(1e-300))
        return share

    @cached_property
    def out_of(self) -> Float[np.ndarray, "variables factors"]:
        """R² of the children of each factor, for out-anchors what the factor alone explains."""
        return self.samples.graph.R * self.explained[:, None]

    @cached_property
    def factor_noise(self) -> list[FactorNoise]:
        """What the children of each factor share beyond what its parents explain."""
        return [factor_noise(self.samples, k) for k in range(self.samples.graph.n_factors)]

    @cached_property
    def is_constant(self) -> Bool[np.ndarray, " factors"]:
        """Factors that never change in the data, among them those without parents."""
        return np.asarray(~self.samples.z.any(axis=0))

    @cached_property
    def is_discrete(self) -> Bool[np.ndarray, " variables"]:
        """Variables whose support is not the real line, judged where they are free."""
        return np.array(
            [
                0 < distinct <= max(MAX_DISTINCT, MAX_DISTINCT_SHARE * count)
                or mode > MAX_MODE_SHARE
                for count, distinct, mode in self._values
            ],
            dtype=bool,
        )

    @cached_property
    def mode_share(self) -> Float[np.ndarray, " variables"]:
        """The share of the most common value of each variable, where it is free."""
        return np.array([mode for _, _, mode in self._values])

    @cached_property
    def _values(self) -> list[tuple[int, int, float]]:
        """Of every variable where it is free: samples, distinct values, share of the commonest."""
        found = []
        for j in range(self.samples.n_variables):
            values = self.samples.x[~self.samples.is_intervened[:, j], j]
            values = np.sort(values[:: max(1, len(values) // MAX_ROWS_FOR_VALUES)])
            starts = np.flatnonzero(np.diff(values, prepend=-np.inf))
            longest = np.diff(starts, append=len(values)).max(initial=0)
            found.append((len(values), len(starts), float(longest) / max(len(values), 1)))
        return found
