"""What the regimes of all variables show of one: a contrast with samples at rest, and a slope.

The *contrast* compares x_j in the samples in which v alone is acted on with reference samples in
which nothing is: it works for every kind of intervention. The *slope* regresses x_j on x_v where v
is set to varying values: it has more power, and is valid only if v no longer listens to its own
causes there. Both are log-likelihood ratios in nats, and are computed for all v in one go.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad.data import InterventionalData
from ucad.data.kinds import RegimeKind
from ucad.data.moments import RowsByVariable, product
from ucad.scm.families import Family
from ucad.solvers.search.regime_groups import MIN_SLOPE, Groups, Slopes, means_differ

__all__ = ["RegimeTests"]

MIN_ALONE = 10
"""Samples in which a variable alone is acted on, for a contrast: a mean of ten is known to a third
of a standard deviation."""

MIN_REFERENCE = 50
"""Samples in which nothing is acted on, to serve as reference; else those in which v is free."""

PREFERRED = 3.0
"""Nats beyond log n by which 'v still listens to its causes' must fit some variable better. Where
v is really clamped that happens by chance in about 2 % of the regimes, and costs power only."""

CONSTANT = 1e-3
"""Share of a variable's variance below which a clamp counts as one value."""

MOVED = 0.5
"""Standard deviations by which a regime must move the mean of its target for the contrast alone to
decide: then a line through the reference has the power of a slope, and is not confounded."""


class Rest(NamedTuple):
    """Count, sum and sum of squares of one column over the reference samples of every group."""

    n: Float[np.ndarray, " groups"]
    total: Float[np.ndarray, " groups"]
    square: Float[np.ndarray, " groups"]


@dataclass(frozen=True, eq=False)
class RegimeTests:
    """The tests of every variable that was acted on.

    Attributes:
        data: the samples.
        family: the family of a variable as a function of variables.
    """

    data: InterventionalData
    family: Family

    @cached_property
    def acted_on(self) -> RowsByVariable:
        """The samples in which each variable is acted on."""
        return RowsByVariable.of(self.data.is_intervened)

    @cached_property
    def targets(self) -> Int[np.ndarray, " targets"]:
        """The variables that some regime acts on."""
        return np.flatnonzero(self.acted_on.n_free < self.data.n_samples)

    @cached_property
    def n_acted_on(self) -> Int[np.ndarray, " samples"]:
        """How many variables are acted on in every sample, and one for what was not measured."""
        hidden = self.data.acts_on_hidden[self.data.regime]
        return np.bincount(self.acted_on.rows, minlength=self.data.n_samples) + hidden

    @cached_property
    def untouched(self) -> Int[np.ndarray, " rows"]:
        """The samples in which nothing is acted on, nor anything that was not measured."""
        return np.flatnonzero(self.n_acted_on == 0)

    @property
    def has_rest(self) -> bool:
        """Whether enough samples are untouched; else what is not acted on by v is its reference."""
        return len(self.untouched) >= MIN_REFERENCE

    @cached_property
    def contrasted(self) -> Int[np.ndarray, " groups"]:
        """The variables with enough samples in which they alone are acted on."""
        found = [
            int(v)
            for v in self.targets
            if len(self._alone(v)) >= MIN_ALONE and (self.has_rest or self.acted_on.n_free[v] > 0)
        ]
        return np.array(found, dtype=np.int64)

    def _alone(self, v: int | np.integer) -> Int[np.ndarray, " some"]:
        rows = self.acted_on[v]
        return rows[self.n_acted_on[rows] == 1]

    @cached_property
    def alone(self) -> Groups:
        """The samples in which a variable alone is acted on, one group per contrasted variable."""
        return Groups.of([self._alone(v) for v in self.contrasted])

    @cached_property
    def touched(self) -> Groups:
        """All samples in which it is acted on, one group per contrasted variable."""
        return Groups.of([self.acted_on[v] for v in self.contrasted])

    @cached_property
    def at_rest(self) -> tuple[Float[np.ndarray, " groups"], Float[np.ndarray, " groups"]]:
        """The mean and the standard deviation of each contrasted variable in its reference."""
        x, pairs = self.data.x, []
        for v in self.contrasted:
            column = x[:, v].astype(np.float64)
            here = column[self.untouched] if self.has_rest else np.delete(column, self.acted_on[v])
            pairs.append((here.mean(), here.std()))
        mean, spread = np.array(pairs).reshape(-1, 2).T
        return mean, spread

    @cached_property
    def _own(self) -> Float[np.ndarray, " entries"]:
        """x_v in the samples in which v alone is acted on."""
        return self.data.x[self.alone.rows, self.contrasted[self.alone.number]].astype(np.float64)

    @cached_property
    def _own_mean(self) -> Float[np.ndarray, " groups"]:
        return self.alone.sums(self._own) / self.alone.size

    @cached_property
    def is_moved(self) -> Bool[np.ndarray, " variables"]:
        """Whether the regime of a variable, alone, moves its mean."""
        moved = np.zeros(self.data.n_variables, dtype=bool)
        mean, spread = self.at_rest
        moved[self.contrasted] = np.abs(self._own_mean - mean) > MOVED * spread
        return moved

    @cached_property
    def is_constant(self) -> Bool[np.ndarray, " variables"]:
        """Whether a variable is set to one value wherever it is acted on with the same others."""
        constant = np.zeros(self.data.n_variables, dtype=bool)
        for v in self.targets.tolist():
            parts = [self.data.x[rows, v].astype(np.float64) for rows in self.blocks[v]]
            inside = sum(float(part.var()) * len(part) for part in parts)
            constant[v] = inside < CONSTANT * sum(map(len, parts))
        return constant

    @cached_property
    def blocks(self) -> dict[int, list[Int[np.ndarray, " rows"]]]:
        """The samples in which each target is acted on, in runs to be compared among themselves.

        All of them, or regime by regime if the values it is set to depend on what is acted on with
        it: the effects of the others would pass for its own.
        """
        found = {}
        for v in self.targets.tolist():
            rows = self.acted_on[v]
            rows = rows[np.argsort(self.data.regime[rows], kind="stable")]
            parts = np.split(rows, np.flatnonzero(np.diff(self.data.regime[rows])) + 1)
            differ = means_differ([self.data.x[part, v].astype(np.float64) for part in parts])
            found[v] = parts if differ else [rows]
        return found

    @cached_property
    def still_listens(self) -> Bool[np.ndarray, " variables"]:
        """Whether x_v in its regimes is rather a soft reading of its causes than set from outside.

        If v causes j linearly, x_j in the regime of v lies on a line through the reference mean of
        both, x_j − x̄_j = β (x_v − x̄_v). If both only have a cause in common, the line goes through
        the regime's own mean of x_v. Where the regime has moved x_v, the two can be told apart. A
        kind of intervention that was told is believed.
        """
        soft = [self.data.kind_of(r).may_listen for r in range(self.data.n_regimes)]
        listens = np.asarray(self.data.targets[soft].any(axis=0))
        v, enough = self.contrasted, PREFERRED + np.log(self.data.n_variables)
        asked = ~(listens[v] | self.is_told_clamp[v] | self.is_constant[v])
        if not asked.any():
            return listens
        against = np.zeros(len(v), dtype=bool)
        for j in range(self.data.n_variables):
            through, around = self._lines(self.data.x[:, j].astype(np.float64), self._change)
            against |= (around - through > enough) & (v != j)
        listens[v[asked & against]] = True
        return listens

    @cached_property
    def is_told_clamp(self) -> Bool[np.ndarray, " variables"]:
        """Variables that were clamped wherever they were acted on, as the user says."""
        data = self.data
        clamps = [data.kind_of(r) is RegimeKind.CLAMP for r in range(data.n_regimes)]
        other = data.targets & ~np.array(clamps, dtype=bool)[:, None]
        return np.asarray(data.targets.any(axis=0) & ~other.any(axis=0))

    @cached_property
    def _change(self) -> Float[np.ndarray, " entries"]:
        """How far x_v is from its reference mean."""
        return self._own - self.at_rest[0][self.alone.number]

    @cached_property
    def change(self) -> Float[np.ndarray, " entries"]:
        """The same; on average, where it still listens."""
        average = (self._own_mean - self.at_rest[0])[self.alone.number]
        return np.where(
            self.still_listens[self.contrasted][self.alone.number], average, self._change
        )

    @cached_property
    def slopes(self) -> tuple[Int[np.ndarray, " groups"], Slopes]:
        """The variables set to varying values from outside, and regressions on them there."""
        says_all = self.family.is_affine & self.is_moved
        few = self.data.n_samples - self.acted_on.n_free < MIN_SLOPE
        skipped = self.is_constant | self.still_listens | says_all | few
        some = self.targets[~skipped[self.targets]]
        parts = [self.blocks[v] for v in some.tolist()]
        groups = Groups.of([np.concatenate(each) for each in parts])
        blocks = Groups.of([rows for each in parts for rows in each])
        cause = self.data.x[groups.rows, some[groups.number]].astype(np.float64)
        return some, Slopes(groups, blocks, cause, self.family)

    def nats(
        self, effect: Float[np.ndarray, " samples"], free: Bool[np.ndarray, " samples"]
    ) -> Float[np.ndarray, " variables"]:
        """The evidence that each variable changes one column: the larger of contrast and slope."""
        found = np.zeros(self.data.n_variables)
        effect = effect.astype(np.float64, copy=False)
        if len(self.contrasted):
            contrast = self._line_nats(effect) if self.family.is_affine else self._ranked(effect)
            barred = self.alone.sums((~free[self.alone.rows]).astype(np.float64)) > 0
            found[self.contrasted] = np.where(barred, 0.0, contrast)
        some, slopes = self.slopes
        if len(some):
            found[some] = np.maximum(found[some], slopes.nats(effect, free))
        return found

    def _line_nats(self, effect: Float[np.ndarray, " samples"]) -> Float[np.ndarray, " groups"]:
        v = self.contrasted
        through, around = self._lines(effect, self.change)
        unsure = self.is_moved[v] & ~self.is_constant[v]
        return np.where(unsure & (around > through), 0.0, through)

    def _rest(self, effect: Float[np.ndarray, " samples"]) -> Rest:
        ones = np.ones(len(self.contrasted))
        if self.has_rest:
            here = effect[self.untouched]
            return Rest(len(here) * ones, here.sum() * ones, float(here @ here) * ones)
        here = effect[self.touched.rows]
        return Rest(
            len(effect) - self.touched.size.astype(np.float64),
            effect.sum() - self.touched.sums(here),
            float(effect @ effect) - self.touched.sums(here**2),
        )

    def _lines(
        self, effect: Float[np.ndarray, " samples"], change: Float[np.ndarray, " entries"]
    ) -> tuple[Float[np.ndarray, " groups"], Float[np.ndarray, " groups"]]:
        """Nats of a regression of x_j on f = 1[v acted on] · (x_v − x̄_v), with the reference.

        A constant clamp makes it a test of means, a varying one a slope through the reference
        mean; the second result is that of a line through the regime's own mean.
        """
        alone, rest = self.alone, self._rest(effect)
        here = effect[alone.rows]
        n = alone.size + rest.n
        mean = (alone.sums(here) + rest.total) / n
        yy = alone.sums(here**2) + rest.square - n * mean**2
        nats = []
        for f in (change, self._own - self._own_mean[alone.number]):
            middle = alone.sums(f) / n
            ff = alone.sums(f**2) - n * middle**2
            fy = alone.sums(f * here) - n * middle * mean
            share = np.clip(fy**2 / np.maximum(ff * yy, 1e-300), 0.0, 1 - 1e-12)
            nats.append(-n / 2 * np.log1p(-share))
        return nats[0], nats[1]

    def _ranked(self, effect: Float[np.ndarray, " samples"]) -> Float[np.ndarray, " groups"]:
        """Nats by which two normal laws of the ranks, alone and at rest, beat a common one.

        Two parameters more: at a price of one nat beyond that of a mean alone.
        """
        alone, here = self.alone, effect[self.alone.rows]
        if self.has_rest:
            below = np.searchsorted(np.sort(effect[self.untouched]), here).astype(np.float64)
            n_rest = np.full(len(alone.size), float(len(self.untouched)))
        else:
            own = self.touched.ranks(effect[self.touched.rows])
            own = own[self.n_acted_on[self.touched.rows] == 1]
            below = np.searchsorted(np.sort(effect), here) - own
            n_rest = len(effect) - self.touched.size.astype(np.float64)
        ranks = below + alone.ranks(here)
        n = alone.size + n_rest
        first, first_square = alone.sums(ranks), alone.sums(ranks**2)
        other, other_square = n * (n - 1) / 2 - first, (n - 1) * n * (2 * n - 1) / 6 - first_square
        nats = n / 2 * np.log((n**2 - 1) / 12) - 1.0
        for size, total, square in (
            (alone.size, first, first_square),
            (n_rest, other, other_square),
        ):
            variance = square / size - (total / size) ** 2
            nats -= size / 2 * np.log(np.maximum(variance, 1e-12))
        return np.maximum(nats, 0.0)

    @cached_property
    def untouched_moments(
        self,
    ) -> tuple[Float[np.ndarray, "variables groups"], Float[np.ndarray, " variables"]]:
        """Σ x_j x_v, centred, over the untouched samples, v contrasted; and variances of x_j."""
        at_rest = self.data.x[self.untouched]
        mean = at_rest.mean(axis=0, dtype=np.float64)
        at_rest = at_rest - mean.astype(at_rest.dtype)
        variance = np.einsum("sj,sj->j", at_rest, at_rest, dtype=np.float64) / len(at_rest)
        return product(at_rest, at_rest[:, self.contrasted]), variance
