"""What the regimes of one variable show: a contrast with samples at rest, and a slope.

The *contrast* compares x_j in the samples in which v alone is acted on with reference samples in
which nothing is: it works for every kind of intervention. The *slope* regresses x_j on x_v where v
is set to varying values: it has more power, and is valid only if v no longer listens to its own
causes there. Both are log-likelihood ratios in nats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ucad._types import BooleanMatrix
from ucad.data import InterventionalData
from ucad.data.kinds import RegimeKind
from ucad.scm.families import Family

__all__ = ["POWER", "Regime", "RegimeTests", "Sums", "slope_nats"]

MIN_ALONE = 10
"""Samples in which a variable alone is acted on, for a contrast: a mean of ten is known to a third
of a standard deviation."""

MIN_REFERENCE = 50
"""Samples in which nothing is acted on, to serve as reference; else those in which v is free."""

MIN_ROWS = 50
"""Samples with a varying clamp after which a pair counts as tested."""

POWER = 15.0
"""Nats an effect must be expected to show before its absence counts: T then misses a line of
3 nats with probability 1e-3, (√6 + 3.09)² / 2."""

PREFERRED = 3.0
"""Nats beyond log n by which 'v still listens to its causes' must fit some variable better. Where
v is really clamped that happens by chance in about 2 % of the regimes, and costs power only."""

CONSTANT = 1e-3
"""Share of a variable's variance below which a clamp counts as one value."""

MOVED = 0.5
"""Standard deviations by which a regime must move the mean of its target for the contrast alone to
decide: then a line through the reference has the power of a slope, and is not confounded."""

PRICE_PER_FUNCTION = 2.0
"""Nats for every further function of x_v that a slope may use."""


class Sums(NamedTuple):
    """Count, sums and sums of squares of some columns."""

    n: int
    total: Float[np.ndarray, " columns"]
    square: Float[np.ndarray, " columns"]


class Regime(NamedTuple):
    """What was done to one variable, and which samples show it.

    `rows` act on it, `alone` on nothing else; `reference` samples are what `alone` are compared
    with, if there are enough of both (`has_contrast`).
    """

    rows: Int[np.ndarray, " rows"]
    alone: Int[np.ndarray, " some"]
    reference: Int[np.ndarray, " others"]
    has_contrast: bool
    is_constant: bool
    is_moved: bool


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
    def targets(self) -> Int[np.ndarray, " targets"]:
        """The variables that some regime acts on."""
        return np.flatnonzero(self.data.is_intervened.any(axis=0))

    @cached_property
    def n_acted_on(self) -> Int[np.ndarray, " samples"]:
        """How many variables are acted on in every sample."""
        return self.data.is_intervened.sum(axis=1)

    @cached_property
    def still_listens(self) -> Bool[np.ndarray, " variables"]:
        """Whether x_v in its regimes is rather a soft reading of its causes than set from outside.

        If v causes j linearly, x_j in the regime of v lies on a line through the reference mean of
        both, x_j − x̄_j = β (x_v − x̄_v). If both only have a cause in common, the line goes through
        the regime's own mean of x_v. Where the regime has moved x_v, the two can be told apart. A
        kind of intervention that was told is believed.
        """
        listens: Bool[np.ndarray, " variables"] = np.array(self.data.may_listen.any(axis=0))
        enough = PREFERRED + np.log(self.data.n_variables)
        rest = self.at_rest(self.data.x)
        for v, regime in self.regimes.items():
            told = listens[v] or self.is_told_clamp[v]
            if told or not regime.has_contrast or regime.is_constant:
                continue
            x_v, here = self.data.x[regime.alone, v], self.data.x[regime.alone]
            around = rest if regime.reference is self.untouched else self._rest(regime, self.data.x)
            through_reference = _line(x_v - self.data.x[regime.reference, v].mean(), here, around)
            against = _line(x_v - x_v.mean(), here, around) - through_reference
            against[v] = 0.0
            listens[v] = bool((against > enough).any())
        return listens

    @cached_property
    def is_told_clamp(self) -> Bool[np.ndarray, " variables"]:
        """Variables that were clamped wherever they were acted on, as the user says."""
        data = self.data
        clamps = [data.kind_of(r) is RegimeKind.CLAMP for r in range(data.n_regimes)]
        other = data.targets & ~np.array(clamps, dtype=bool)[:, None]
        return np.asarray(data.targets.any(axis=0) & ~other.any(axis=0))

    def at_rest(self, effect: Float[np.ndarray, "samples columns"]) -> Sums:
        """Count, sums and sums of squares of some columns where nothing is acted on."""
        return _sums(effect[self.untouched])

    def _rest(self, regime: Regime, effect: Float[np.ndarray, "samples columns"]) -> Sums:
        return _sums(effect[regime.reference])

    @cached_property
    def untouched(self) -> Int[np.ndarray, " rows"]:
        """The samples in which nothing is acted on, nor anything that was not measured."""
        data = self.data
        hidden = [r for r in range(data.n_regimes) if data.kind_of(r) is RegimeKind.UNMEASURED]
        return np.flatnonzero((self.n_acted_on == 0) & ~np.isin(data.regime, hidden))

    @cached_property
    def regimes(self) -> dict[int, Regime]:
        """What was done to every variable that was acted on."""
        return {int(v): self._regime(int(v)) for v in self.targets}

    def _regime(self, v: int) -> Regime:
        acted_on = self.data.is_intervened[:, v]
        alone = np.flatnonzero(acted_on & (self.n_acted_on == 1))
        reference = self.untouched
        if len(reference) < MIN_REFERENCE:
            reference = np.flatnonzero(~acted_on)
        x_v, at_rest = self.data.x[:, v], self.data.x[reference, v]
        has_contrast = len(alone) >= MIN_ALONE and len(reference) > 0
        moved = has_contrast and abs(x_v[alone].mean() - at_rest.mean()) > MOVED * at_rest.std()
        return Regime(
            rows=np.flatnonzero(acted_on),
            alone=alone,
            reference=reference,
            has_contrast=has_contrast,
            is_constant=bool(x_v[acted_on].var() < CONSTANT),
            is_moved=bool(moved),
        )

    def nats(
        self,
        v: int,
        effect: Float[np.ndarray, "samples columns"],
        free: Bool[np.ndarray, "samples columns"],
        rest: Sums,
    ) -> Float[np.ndarray, " columns"]:
        """The evidence that v changes some columns: the larger of contrast and slope."""
        regime = self.regimes[v]
        found = np.zeros(effect.shape[1])
        if regime.has_contrast:
            found = self._contrast(v, regime, effect, rest)
            found[~free[regime.alone].all(axis=0)] = 0.0
        says_all = self.family.is_affine and regime.is_moved
        if regime.is_constant or self.still_listens[v] or says_all:
            return found
        rows = regime.rows
        slope = slope_nats(self.data.x[rows, v], effect[rows], free[rows], self.family)
        return np.maximum(found, slope)

    def _contrast(
        self,
        v: int,
        regime: Regime,
        effect: Float[np.ndarray, "samples columns"],
        rest: Sums,
    ) -> Float[np.ndarray, " columns"]:
        here = effect[regime.alone]
        if not self.family.is_affine:
            both = np.concatenate([here, effect[regime.reference]])
            return _mean_and_spread(_ranks(both, np.ones(both.shape, dtype=bool)), len(here))
        around = rest if regime.reference is self.untouched else self._rest(regime, effect)
        nats = _line(self._change(v, regime), here, around)
        if regime.is_moved and not regime.is_constant:
            x_v = self.data.x[regime.alone, v]
            nats[_line(x_v - x_v.mean(), here, around) > nats] = 0.0
        return nats

    def _change(self, v: int, regime: Regime) -> Float[np.ndarray, " rows"]:
        """How far x_v is from its reference mean; on average, where it still listens."""
        change = self.data.x[regime.alone, v] - self.data.x[regime.reference, v].mean()
        return np.full_like(change, change.mean()) if self.still_listens[v] else change

    def is_tested(self) -> BooleanMatrix:
        """Which pairs had the power to show an effect worth an edge.

        Expected are Σ f² · slope² / (2 var x_j) nats, f the change of x_v and the slope of x_j on
        x_v that of the reference samples. Where v takes varying values from outside, enough
        samples are power, too, unless the reference samples show an effect that is too weak to be
        seen there: a slope may be 0 and the effect not.
        """
        data, n = self.data, self.data.n_variables
        tested = np.zeros((n, n), dtype=bool)
        free = (~data.is_left_out).astype(np.float32)
        for v, regime in self.regimes.items():
            if regime.has_contrast:
                expected, association = self._expected(v, regime)
                tested[v] = expected >= POWER
            if not (regime.is_constant or self.still_listens[v]):
                enough = (data.is_intervened[:, v] @ free) >= MIN_ROWS
                if regime.has_contrast:
                    enough &= ~((expected < POWER) & (association > POWER))
                tested[v] |= enough
        return tested

    def _expected(
        self, v: int, regime: Regime
    ) -> tuple[Float[np.ndarray, " variables"], Float[np.ndarray, " variables"]]:
        """Nats that the regime of v should show, and those of the reference itself."""
        at_rest = self.data.x[regime.reference]
        at_rest = at_rest - at_rest.mean(axis=0)
        own = max(float((at_rest[:, v] ** 2).sum()), 1e-12)
        slope = at_rest.T @ at_rest[:, v] / own
        per_square = slope**2 / (2 * np.maximum(at_rest.var(axis=0), 1e-12))
        change = self._change(v, regime)
        return float(change @ change) * per_square, own * per_square


def _sums(columns: Float[np.ndarray, "rows columns"]) -> Sums:
    return Sums(len(columns), columns.sum(axis=0), (columns**2).sum(axis=0))


def _line(
    change: Float[np.ndarray, " rows"], here: Float[np.ndarray, "rows columns"], rest: Sums
) -> Float[np.ndarray, " columns"]:
    """Nats of a regression of x_j on f = 1[v acted on] · (x_v − x̄_v), with the reference samples.

    A constant clamp makes it a test of means, a varying one a slope through the reference mean.
    """
    n = len(here) + rest.n
    mean, middle = (here.sum(axis=0) + rest.total) / n, change.sum() / n
    yy = (here**2).sum(axis=0) + rest.square - n * mean**2
    ff = change @ change - n * middle**2
    fy = change @ here - n * middle * mean
    share = fy**2 / np.maximum(ff * yy, 1e-300)
    nats: Float[np.ndarray, " columns"] = -n / 2 * np.log1p(-np.clip(share, 0.0, 1 - 1e-12))
    return nats


def _mean_and_spread(
    effect: Float[np.ndarray, "both columns"], n_first: int
) -> Float[np.ndarray, " columns"]:
    """Nats by which two normal laws, of the first rows and of the others, beat a common one.

    Two parameters more: at a price of one nat beyond that of a mean alone.
    """
    parts = (effect, effect[:n_first], effect[n_first:])
    each = [len(part) / 2 * np.log(np.maximum(part.var(axis=0), 1e-12)) for part in parts]
    nats: Float[np.ndarray, " columns"] = np.maximum(each[0] - each[1] - each[2] - 1.0, 0.0)
    return nats


def slope_nats(
    cause: Float[np.ndarray, " rows"],
    effect: Float[np.ndarray, "rows columns"],
    free: Bool[np.ndarray, "rows columns"],
    family: Family,
) -> Float[np.ndarray, " columns"]:
    """Nats by which functions of one variable predict others, each over its free samples."""
    nats = np.zeros(effect.shape[1])
    count = np.maximum(free.sum(axis=0), 1)
    y = effect if family.is_affine else _ranks(effect, free)
    y = np.where(free, y - np.where(free, y, 0.0).sum(axis=0) / count, 0.0)
    total = np.maximum((y**2).sum(axis=0), 1e-12)
    features = family.features(cause[:, None])[:, 0]
    for width in sorted({1, features.shape[1]}):
        design = np.concatenate([features[:, :width], np.ones((len(cause), 1))], axis=1)
        pairs = (design[:, :, None] * design[:, None, :]).reshape(-1, (width + 1) ** 2)
        gram = (free.astype(np.float64).T @ pairs).reshape(-1, width + 1, width + 1)
        gram += 1e-6 * count[:, None, None] * np.eye(width + 1)
        to = (design.T @ y).T[:, :, None]
        explained = (to * (np.linalg.inv(gram) @ to)).sum(axis=(1, 2))
        share = np.clip(explained / total, 0.0, 1 - 1e-12)
        price = PRICE_PER_FUNCTION * (width - 1)
        nats = np.maximum(nats, -count / 2 * np.log1p(-share) - price)
    return nats


def _ranks(
    values: Float[np.ndarray, "rows columns"], free: Bool[np.ndarray, "rows columns"]
) -> Float[np.ndarray, "rows columns"]:
    """Ranks among the free samples: products have heavy tails that pass for dependence."""
    order = np.argsort(np.where(free, values, np.inf), axis=0, kind="stable")
    return np.argsort(order, axis=0, kind="stable").astype(np.float64)
