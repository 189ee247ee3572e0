"""Samples in groups, one per variable that is acted on: sums, ranks and slopes of all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import special

from ucad.scm.families import Family

__all__ = ["MIN_SLOPE", "Groups", "Slopes", "means_differ"]

MIN_SLOPE = 4
"""Samples in which a variable is acted on, for a slope: three of them cannot show an ancestor, even
if they lie on a line."""

PRICE_PER_FUNCTION = 2.0
"""Nats for every further function of x_v that a slope may use."""

RIDGE = 1e-6
"""Of a group's size, added to the Gram matrix of its functions: they may be constant there."""


DIFFERS = 0.05
"""The chance that regimes are compared each by itself although a clamp is the same in all: that
costs one sample per regime, whereas regimes that differ unseen can make ancestors of bystanders."""

TINY = 1e-12
"""Of variables of variance 1: a variance that is none."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Lists of samples, none of them empty.

    Attributes:
        rows: the samples, group by group.
        start: where each group starts.
    """

    rows: Int[np.ndarray, " entries"]
    start: Int[np.ndarray, " groups"]

    @classmethod
    def of(cls, lists: Sequence[Int[np.ndarray, " ..."]]) -> Groups:
        """Groups of the given samples."""
        sizes = np.array([len(rows) for rows in lists], dtype=np.int64)
        rows = np.concatenate([*lists, np.zeros(0, dtype=np.int64)])
        return cls(rows, np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64))

    @cached_property
    def size(self) -> Int[np.ndarray, " groups"]:
        """The number of samples of each group."""
        return np.diff(np.append(self.start, len(self.rows)))

    @cached_property
    def number(self) -> Int[np.ndarray, " entries"]:
        """The group of every entry."""
        return np.repeat(np.arange(len(self.start)), self.size)

    def sums(self, values: Float[np.ndarray, "entries ..."]) -> Float[np.ndarray, "groups ..."]:
        """The sum of every group, of values in the order of `rows`."""
        if not len(self.start):
            return np.zeros((0, *values.shape[1:]))
        return np.asarray(np.add.reduceat(values, self.start, axis=0, dtype=np.float64))

    def ranks(self, values: Float[np.ndarray, " entries"]) -> Float[np.ndarray, " entries"]:
        """The rank of every entry in its group, from 0; infinite values come last."""
        order = np.lexsort((values, self.number))
        ranks = np.empty(len(values))
        ranks[order] = np.arange(len(values)) - self.start[self.number]
        return ranks


@dataclass(frozen=True, eq=False)
class Slopes:
    """Regressions, inside every group, of other variables on functions of the group's own.

    Only what varies inside a block counts. Where a variable is set to other values together with
    other targets, the effects of those would pass for its own.

    Attributes:
        groups: the samples in which each variable is set from outside.
        blocks: the same samples in the same order, in runs that are compared among themselves.
        cause: the variable's values in them.
        family: whose functions of it are used.
    """

    groups: Groups
    blocks: Groups
    cause: Float[np.ndarray, " entries"]
    family: Family

    @cached_property
    def design(self) -> Float[np.ndarray, "entries columns"]:
        """Functions of the cause, and a constant."""
        features = self.family.features(self.cause[:, None])[:, 0].astype(np.float64)
        mean = self.blocks.sums(features) / self.blocks.size[:, None]
        features = features - mean[self.blocks.number]
        return np.concatenate([features, np.ones((len(features), 1))], axis=1).astype(np.float64)

    @cached_property
    def pairs(self) -> Float[np.ndarray, "entries pairs"]:
        """Products of every two columns of the design."""
        both = self.design[:, :, None] * self.design[:, None, :]
        return both.reshape(len(both), -1)

    @cached_property
    def gram(self) -> Float[np.ndarray, "groups pairs"]:
        """The second moments of the design in every group."""
        return self.groups.sums(self.pairs)

    def nats(
        self, effect: Float[np.ndarray, " samples"], free: Bool[np.ndarray, " samples"]
    ) -> Float[np.ndarray, " groups"]:
        """Nats by which functions of each cause predict one column, over its free samples.

        Products have heavy tails that pass for dependence: curves are tested on ranks.
        """
        groups, blocks = self.groups, self.blocks
        is_free, y = free[groups.rows], effect[groups.rows].astype(np.float64)
        if self.family.is_affine:
            return self._lines(y, is_free)
        gram, count = self.gram, groups.size.astype(np.float64)
        if not is_free.all():
            count = np.maximum(groups.sums(is_free.astype(np.float64)), 1)
            gram = gram - self._taken_away(~is_free)
        y = groups.ranks(np.where(is_free, y, np.inf))
        y = _centred(y, is_free, blocks)
        count = count - self._n_further(is_free)
        total, to = np.maximum(groups.sums(y**2), 1e-12), groups.sums(self.design * y[:, None])
        return self._explained(gram, to, total, count)

    def _lines(
        self, y: Float[np.ndarray, " entries"], is_free: Bool[np.ndarray, " entries"]
    ) -> Float[np.ndarray, " groups"]:
        """The same of a line in the cause, in closed form."""
        groups = self.groups
        f, y = (_centred(v, is_free, self.blocks) for v in (self.cause, y))
        count = groups.sums(is_free.astype(np.float64)) - self._n_further(is_free)
        n, fy = np.maximum(count, 1), groups.sums(f * y)
        share = fy**2 / np.maximum((groups.sums(f * f) + RIDGE * n) * groups.sums(y * y), 1e-12)
        return _nats(share, count, 1)

    def _n_further(self, is_free: Bool[np.ndarray, " entries"]) -> Float[np.ndarray, " groups"]:
        """Blocks with free samples beyond the first, each of which takes a mean of its own."""
        found = self.blocks.sums(is_free.astype(np.float64)) > 0
        of_group = self.groups.number[self.blocks.start]
        n_blocks = np.bincount(of_group, weights=found, minlength=len(self.groups.start))
        return np.maximum(n_blocks - 1.0, 0.0)

    def _taken_away(self, barred: Bool[np.ndarray, " entries"]) -> Float[np.ndarray, "groups _"]:
        taken = np.zeros(self.gram.shape)
        np.add.at(taken, self.groups.number[barred], self.pairs[barred])
        return taken

    def _explained(
        self,
        gram: Float[np.ndarray, "groups pairs"],
        to: Float[np.ndarray, "groups columns"],
        total: Float[np.ndarray, " groups"],
        count: Float[np.ndarray, " groups"],
    ) -> Float[np.ndarray, " groups"]:
        """The better of a line and of all functions, each function at its price."""
        size, nats = to.shape[1], np.zeros(len(to))
        square = gram.reshape(-1, size, size)
        for width in sorted({1, size - 1}):
            some = [*range(width), size - 1]
            part = square[:, some][:, :, some] + RIDGE * count[:, None, None] * np.eye(width + 1)
            explained = np.einsum("gi,gij,gj->g", to[:, some], np.linalg.inv(part), to[:, some])
            price = PRICE_PER_FUNCTION * (width - 1)
            nats = np.maximum(nats, _nats(explained / total, count, width) - price)
        return nats


def means_differ(parts: Sequence[Float[np.ndarray, " _"]]) -> bool:
    """Whether the means of some samples differ beyond chance: a one-way analysis of variance.

    >>> means_differ([np.array([1.0, 1.0]), np.array([2.0, 2.0])])
    True
    """
    n, k = sum(map(len, parts)), len(parts)
    if k == 1 or n == k:
        return False
    inside = sum(float(part.var()) * len(part) for part in parts) / (n - k)
    mean = sum(float(part.sum()) for part in parts) / n
    between = sum(len(part) * (float(part.mean()) - mean) ** 2 for part in parts) / (k - 1)
    if between <= TINY:
        return False
    return bool(special.fdtrc(k - 1, n - k, between / max(inside, TINY)) < DIFFERS)


def _centred(
    values: Float[np.ndarray, " entries"], is_free: Bool[np.ndarray, " entries"], blocks: Groups
) -> Float[np.ndarray, " entries"]:
    """Values less the mean of their block over its free entries; 0 where an entry is not free."""
    kept = np.where(is_free, values, 0.0)
    mean = blocks.sums(kept) / np.maximum(blocks.sums(is_free.astype(np.float64)), 1.0)
    return np.where(is_free, kept - mean[blocks.number], 0.0)


def _nats(
    share: Float[np.ndarray, " groups"], count: Float[np.ndarray, " groups"], width: int
) -> Float[np.ndarray, " groups"]:
    """What a share of variance explained by so many functions and a constant is worth.

    −(N − width − 1)/2 · log(1 − share): by chance a line has P(1 − R² < u) ≈ u^((N − 2)/2) in N
    samples, so that two samples, through which there is always a line, show nothing.
    """
    freedom = np.maximum(count - width - 1, 0.0)
    nats: Float[np.ndarray, " groups"] = -freedom / 2 * np.log1p(-np.clip(share, 0.0, 1 - 1e-12))
    return nats
